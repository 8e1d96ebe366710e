/** How many requests an account may still make until its minute is over. */
export interface Budget {
  limit: number;
  remaining: number;
  resetMs: number;
}

const windowMs = 60_000;
/** Enough for a first sync with its pages; somebody who triggers one sync after the other gets to know it. */
const limit = 60;

/** Counts requests by account. Forgets everybody's when a minute is over, and so never grows beyond one minute's callers. */
export function createBudgets() {
  const used = new Map<string, number>();
  let countedWindow = 0;
  return {
    /** Counts one request; undefined if it is one too many. */
    take(account: string, nowMs: number): Budget | undefined {
      const window = Math.floor(nowMs / windowMs);
      if (window !== countedWindow) used.clear();
      countedWindow = window;
      const count = (used.get(account) ?? 0) + 1;
      if (count > limit) return undefined;
      used.set(account, count);
      return { limit, remaining: limit - count, resetMs: (window + 1) * windowMs };
    },
    /** What is said when there is nothing left. */
    spent: (untilMs: number): Budget => ({ limit, remaining: 0, resetMs: untilMs }),
    windowEnd: (nowMs: number) => (Math.floor(nowMs / windowMs) + 1) * windowMs,
  };
}
