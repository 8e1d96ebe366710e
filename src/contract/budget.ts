/** What a provider limits: so many requests in a period, for whom. */
export interface Budget {
  /** What is limited, such as `core` or the name of an endpoint. */
  name: string;
  /** Whose requests count together: those with one credential, or those of the whole app. */
  per: 'credential' | 'app';
  /** Until the provider's own answers say otherwise. */
  limit: number;
  perSeconds: number;
}

export interface BudgetUse {
  budget: Budget;
  /** What the request costs; 1 unless given. */
  weight?: number | undefined;
}

/** What an answer of the provider said of a budget. */
export interface BudgetNews {
  limit?: number | undefined;
  remaining?: number | undefined;
  resetsInSeconds?: number | undefined;
}

/** What was taken for one request. */
export interface Taken {
  /** The answer is there. With `free`, the provider did not count it and it is given back (a 304, for example). */
  settle(outcome?: { free?: boolean }): void;
}

/** The fleet's budgets, for one run. Most calls touch nothing but memory. */
export interface Budgets {
  /** Takes from each of these or from none. Throws RateLimitedError, which parks the job, where one is used up. */
  take(uses: readonly BudgetUse[]): Promise<Taken>;
  /** Adjusts a budget to what the provider said. */
  learn(budget: Budget, news: BudgetNews): void;
}
