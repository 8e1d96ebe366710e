export { devKey, findDevKey } from './credential-key.ts';
export { embeddedDataFolder, possibleDataFolders } from './data-folder.ts';
export { isOutdated, makeDemo } from './demo.ts';
export { addLoad, removeLoad } from './demo-load.ts';
export { findRunningPostgres, startEmbeddedPostgres } from './postgres.ts';
export { withProviderServer } from './provider-server.ts';
