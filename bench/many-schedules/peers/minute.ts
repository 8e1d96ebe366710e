import { setTimeout as delay } from 'node:timers/promises';

const minuteMs = 60_000;

/** The beginning of the minute that this moment lies in. */
export const minuteOf = (ms: number) => ms - (ms % minuteMs);

export const everyMinute = '* * * * *';

/** Once an hour, in one of the minutes that are between a quarter and three quarters of an hour away. */
export function hourlyLater(n: number): string {
  const minute = (new Date().getUTCMinutes() + 15 + (n % 30)) % 60;
  return `${minute} * * * *`;
}

/** Waits until so many have come, or the time is over. */
export async function untilThere(count: () => number, wanted: number, mostMs: number): Promise<void> {
  const latest = performance.now() + mostMs;
  while (count() < wanted && performance.now() < latest) await delay(20);
}
