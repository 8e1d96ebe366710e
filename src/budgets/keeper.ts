import type { ClaimedJob } from '../pipeline/claim.ts';
import type { Budgets } from './budget.ts';

/** Keeps this process's share of the fleet's budgets. */
export function createBudgetKeeper(): { forRun(job: ClaimedJob): Budgets; stop(): Promise<void> } {
  return {
    forRun: () => ({ take: async () => ({ settle: () => {} }), learn: () => {} }),
    stop: async () => {},
  };
}
