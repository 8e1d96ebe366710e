export interface Budget {
  limit: number;
  remaining: number;
  resetMs: number;
}

const windowMs = 3_600_000;
/** GitHub's limit. */
const limit = 5000;

/** Cleared hourly, which bounds its size. */
export function createBudgets() {
  const used = new Map<string, number>();
  let countedWindow = 0;
  return {
    take(holder: string, nowMs: number): Budget | undefined {
      const window = Math.floor(nowMs / windowMs);
      if (window !== countedWindow) used.clear();
      countedWindow = window;
      const count = (used.get(holder) ?? 0) + 1;
      if (count > limit) return undefined;
      used.set(holder, count);
      return { limit, remaining: limit - count, resetMs: (window + 1) * windowMs };
    },
    spent: (untilMs: number): Budget => ({ limit, remaining: 0, resetMs: untilMs }),
    windowEnd: (nowMs: number) => (Math.floor(nowMs / windowMs) + 1) * windowMs,
  };
}
