import type { Budgets } from '../contract/budget.ts';
import type { CredentialHandle } from '../contract/credential.ts';
import type { ClaimedJob } from './claim.ts';

/** What a run can use besides its connection. Made only when its connector asks for it. */
export interface RunResources {
  credentials(job: ClaimedJob, abortSignal: AbortSignal): CredentialHandle;
  budgets(job: ClaimedJob): Budgets;
  fetch: typeof fetch;
}
