import { setTimeout as delay } from 'node:timers/promises';

/** A long wait polls less often, at most a twentieth of its time late: many conditions are SQL statements. */
const pauseMs = (waitedMs: number) => Math.min(100, Math.max(20, waitedMs / 20));

/** Polls a condition. The error names the condition, unlike a test timeout, which is longer. */
export async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  maxMs = 120_000,
): Promise<void> {
  const startMs = performance.now();
  while (!(await condition())) {
    const waitedMs = performance.now() - startMs;
    if (waitedMs > maxMs) throw new Error(`timed out waiting until ${what}`);
    await delay(pauseMs(waitedMs));
  }
}
