import { setTimeout as delay } from 'node:timers/promises';

/** Polls a condition. The error names the condition, unlike a test timeout, which is longer. */
export async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  maxMs = 120_000,
): Promise<void> {
  const deadline = performance.now() + maxMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await delay(20);
  }
}
