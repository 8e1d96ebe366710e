export { createCredentialStore, type StoredCredential } from './api.ts';
export { changeCredential, removeUnused, requireCredential } from './attach.ts';
export { createAuthorize, validMs } from './authorize.ts';
export { type Arrival, createFinish } from './finish.ts';
export { createCredentialHandles } from './handles.ts';
export { briefLockMs, patiently } from './patience.ts';
export { secretTypes } from './secret.ts';
export { type ConsentRequest, createStart } from './start.ts';
export { createVault, type Vault } from './vault.ts';
