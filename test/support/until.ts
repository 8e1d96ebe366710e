import { setTimeout as delay } from 'node:timers/promises';

/** Looks again and again until it is so. What never comes is named, rather than a test that took too long. */
export async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  maxMs = 30_000,
): Promise<void> {
  const givenUpAt = performance.now() + maxMs;
  while (!(await condition())) {
    if (performance.now() > givenUpAt) throw new Error(`waited in vain until ${what}`);
    await delay(20);
  }
}
