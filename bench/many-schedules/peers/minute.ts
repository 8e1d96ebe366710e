import { setTimeout as delay } from 'node:timers/promises';

/** The start of the minute. */
export const minuteOf = (ms: number) => ms - (ms % 60_000);

export const everyMinute = '* * * * *';

/** An hourly cron expression, 15 to 45 minutes ahead. */
export function hourlyLater(n: number): string {
  return `${(new Date().getUTCMinutes() + 15 + (n % 30)) % 60} * * * *`;
}

/** Waits until `count()` reaches `wanted` or the time is over. */
export async function untilCount(count: () => number, wanted: number, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (count() < wanted && performance.now() < deadline) await delay(20);
}
