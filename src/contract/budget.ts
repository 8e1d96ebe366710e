/** A provider's rate limit. */
export interface Budget {
  /** Such as `core` or an endpoint. */
  name: string;
  per: 'credential' | 'app';
  /** Initial value; responses adjust it. */
  limit: number;
  perSeconds: number;
}

/** A budget that a request consumes. */
export interface BudgetUse {
  budget: Budget;
  /** Default: 1. */
  weight?: number | undefined;
}

/** Rate limit state in a response. */
export interface BudgetNews {
  limit?: number | undefined;
  remaining?: number | undefined;
  resetsInSeconds?: number | undefined;
}

/** Tokens taken for one request. */
export interface Taken {
  /** `free`: the provider did not count the request (a 304, say). */
  settle(outcome?: { free?: boolean }): void;
}

/** Shared by all executors, mostly in memory. */
export interface Budgets {
  /** All or none. If one is exhausted, throws RateLimitedError, which parks the job. */
  take(uses: readonly BudgetUse[]): Promise<Taken>;
  /** Adopts the state that the provider reports for a budget. */
  learn(budget: Budget, news: BudgetNews): void;
}
