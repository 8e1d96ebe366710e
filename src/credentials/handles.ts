import { UnauthorizedError } from '../errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import type { CredentialHandle } from './credential.ts';

/** Gives runs their connections' credentials. */
export function createCredentialHandles(): (job: ClaimedJob, abortSignal: AbortSignal) => CredentialHandle {
  const none = () => Promise.reject(new UnauthorizedError('The connection has no credential.'));
  return (job) => ({ id: job.connection.credentialId, get: none, renew: none, save: none });
}
