import { describe, expect, it } from 'vitest';
import { never, retry } from '../../src/platform/retry.ts';
import { testPorts } from '../support/clock.ts';

const ports = { ...testPorts(), random: () => 0 };

/** Fails `failures` times, then returns the number of calls. */
function failing(failures: number) {
  let calls = 0;
  const work = async () => {
    if (++calls <= failures) throw new Error(`failure ${calls}`);
    return calls;
  };
  return { work, calls: () => calls };
}

describe('retry', () => {
  it('retry: repeats the work until it succeeds, with growing pauses', async () => {
    const pauses: number[] = [];
    const sleep = async (ms: number) => void pauses.push(ms);
    const { work } = failing(3);
    const shouldRetry = () => true;
    expect(await retry(work, { ports: { ...ports, sleep }, attempts: 4, shouldRetry, signal: never })).toBe(
      4,
    );
    expect(pauses).toEqual([250, 500, 1000]);
  });

  it('retry: rejects with the last error after the last attempt, without a pause', async () => {
    const reported: unknown[] = [];
    const { work, calls } = failing(9);
    const retried = retry(work, {
      ports: { ...ports, sleep: async () => {} },
      attempts: 3,
      shouldRetry: () => true,
      delayMs: (failures) => failures * 10,
      onRetry: (error, delayMs) => reported.push([(error as Error).message, delayMs]),
      signal: never,
    });
    await expect(retried).rejects.toThrow('failure 3');
    expect(reported).toEqual([
      ['failure 1', 10],
      ['failure 2', 20],
    ]);
    expect(calls()).toBe(3);
  });

  it('retry: does not repeat an error that a retry cannot fix', async () => {
    const { work, calls } = failing(9);
    const retried = retry(work, { ports, attempts: 3, shouldRetry: () => false, signal: never });
    await expect(retried).rejects.toThrow('failure 1');
    expect(calls()).toBe(1);
  });

  it('retry: an abort ends the pause and the retries', async () => {
    const stopping = new AbortController();
    const clock = testPorts();
    const { work, calls } = failing(9);
    const asleep = clock.asleep();
    const retried = retry(work, {
      ports: clock,
      attempts: 3,
      shouldRetry: () => true,
      signal: stopping.signal,
    });
    await asleep;
    stopping.abort();
    await expect(retried).rejects.toThrow('failure 1');
    expect(calls()).toBe(1);
  });
});
