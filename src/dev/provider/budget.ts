/** How many requests a holder of a token may still make until the hour is over. */
export interface Budget {
  limit: number;
  remaining: number;
  resetMs: number;
}

const windowMs = 3_600_000;
/** As many as GitHub gives a user. */
const limit = 5000;

/** Counts requests by holder. Forgets everybody's when an hour is over, and so never grows beyond one hour's callers. */
export function createBudgets() {
  const used = new Map<string, number>();
  let countedWindow = 0;
  return {
    /** Counts one request; undefined if it is one too many. */
    take(holder: string, nowMs: number): Budget | undefined {
      const window = Math.floor(nowMs / windowMs);
      if (window !== countedWindow) used.clear();
      countedWindow = window;
      const count = (used.get(holder) ?? 0) + 1;
      if (count > limit) return undefined;
      used.set(holder, count);
      return { limit, remaining: limit - count, resetMs: (window + 1) * windowMs };
    },
    /** What is said when there is nothing left. */
    spent: (untilMs: number): Budget => ({ limit, remaining: 0, resetMs: untilMs }),
    windowEnd: (nowMs: number) => (Math.floor(nowMs / windowMs) + 1) * windowMs,
  };
}
