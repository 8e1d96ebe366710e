import type { Budgets } from '../contract/budget.ts';
import type { Clock } from '../contract/clock.ts';
import type { CredentialHandle } from '../contract/credential.ts';
import type { ClaimedJob } from './claim.ts';

/** Created on first use. */
export interface RunResources {
  credentials(job: ClaimedJob, abortSignal: AbortSignal): CredentialHandle;
  budgets(job: ClaimedJob): Budgets;
  fetch: typeof fetch;
  clock: Clock;
}
