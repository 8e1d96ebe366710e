export { devKey, findDevKey } from './credential-key.ts';
export { embeddedDataFolder, possibleDataFolders } from './data-folder.ts';
export { isOutdated, makeDemo } from './demo.ts';
export { demoProviders } from './demo-accounts.ts';
export { addLoad, deleteLoad } from './demo-load.ts';
export { environmentWithoutSecrets } from './environment.ts';
export { findRunningPostgres, startEmbeddedPostgres } from './postgres.ts';
export { type ProviderServer, withProviderServer } from './provider-server.ts';
