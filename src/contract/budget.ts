/** A provider's rate limit: requests per period and scope. */
export interface Budget {
  /** Name of the limit, such as `core` or an endpoint. */
  name: string;
  /** Scope: one credential, or the whole app. */
  per: 'credential' | 'app';
  /** Initial value; responses of the provider adjust it. */
  limit: number;
  perSeconds: number;
}

export interface BudgetUse {
  budget: Budget;
  /** Cost of the request; default: 1. */
  weight?: number | undefined;
}

/** Rate limit state from a provider's response. */
export interface BudgetNews {
  limit?: number | undefined;
  remaining?: number | undefined;
  resetsInSeconds?: number | undefined;
}

/** Tokens taken for one request. */
export interface Taken {
  /** Call on response. `free` returns the tokens: the provider did not count the request (a 304, say). */
  settle(outcome?: { free?: boolean }): void;
}

/** Budgets shared by all executors, as seen by one run. Most calls are in memory. */
export interface Budgets {
  /** Takes from all budgets or none. Throws RateLimitedError, which parks the job, if one is exhausted. */
  take(uses: readonly BudgetUse[]): Promise<Taken>;
  learn(budget: Budget, news: BudgetNews): void;
}
