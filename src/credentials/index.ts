export {
  type CredentialsApi,
  createCredentialStore,
  type ListedCredentials,
  type NewCredential,
} from './api.ts';
export { changeCredential, removeUnused, requireCredential } from './attach.ts';
export {
  type AuthorizationRequest,
  authorizationTtlMs,
  createAuthorize,
} from './authorize.ts';
export { createCredentialHandles } from './handles.ts';
export { briefLockMs } from './lock-retry.ts';
export { type Authorization, authorizationJson, credentialJson, type StoredCredential } from './model.ts';
export {
  type ConsentCallback,
  type ConsentRequest,
  type ConsentResult,
  createOAuth,
  type OAuthApi,
  type StartedConsent,
} from './oauth.ts';
export type { RotationProgress } from './rotate.ts';
export { createVault, type Vault } from './vault.ts';
