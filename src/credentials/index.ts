export { createCredentialStore, type StoredCredential } from './api.ts';
export { changeCredential, removeUnused, requireCredential } from './attach.ts';
export { authorizationTtlMs, createAuthorize } from './authorize.ts';
export { type ConsentResult, createFinish } from './finish.ts';
export { createCredentialHandles } from './handles.ts';
export { briefLockMs, retryLockTimeouts } from './lock-retry.ts';
export { secretTypes } from './secret.ts';
export { type ConsentRequest, createStart } from './start.ts';
export { createVault, type Vault } from './vault.ts';
