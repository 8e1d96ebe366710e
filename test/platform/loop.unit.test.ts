import { describe, expect, it } from 'vitest';
import { startLoop } from '../../src/platform/loop.ts';
import { retryDelayMs } from '../../src/platform/retry.ts';
import { testPorts } from '../support/clock.ts';

describe('loop', () => {
  it('loop: sleeps for the delay that each round returns', async () => {
    const ports = testPorts();
    const delays = [1000, 2000, 3000];
    const loop = startLoop({ ports, runOnce: async () => delays.shift() ?? 0, onFailure: expect.fail });
    expect(await ports.asleep()).toBe(1000);
    ports.wake();
    expect(await ports.asleep()).toBe(2000);
    await loop.stop();
    expect(delays).toEqual([3000]);
  });

  it('loop: retries after a failure with exponential backoff; a success resets it', async () => {
    const ports = testPorts(undefined, () => 0);
    const outcomes = ['fail', 'fail', 'fail', 'ok', 'fail'];
    const failures: unknown[] = [];
    const loop = startLoop({
      ports,
      runOnce: async () => (outcomes.shift() === 'fail' ? Promise.reject(new Error('no database')) : 60_000),
      onFailure: (error, retryMs) => failures.push([String(error), retryMs]),
    });
    for (let round = 0; round < 4; round++) {
      await ports.asleep();
      ports.wake();
    }
    await ports.asleep();
    await loop.stop();
    expect(ports.sleeps.slice(0, 5)).toEqual([125, 250, 500, 60_000, 125]);
    expect(failures).toHaveLength(4);
  });

  it('loop: after Infinity it waits for wake() without a timer', async () => {
    const ports = testPorts();
    let rounds = 0;
    const loop = startLoop({
      ports,
      runOnce: async () => {
        rounds++;
        return Number.POSITIVE_INFINITY;
      },
      onFailure: expect.fail,
    });
    await new Promise(setImmediate);
    expect(rounds).toBe(1);
    loop.wake();
    await new Promise(setImmediate);
    expect(rounds).toBe(2);
    await loop.stop();
    expect(ports.sleeps).toEqual([]);
  });

  it('loop: retry delays stay between 125 ms and 4 s', () => {
    for (const failures of [0, 1, 5, 10, 100, 10_000]) {
      expect(retryDelayMs(failures, 0.999)).toBeLessThanOrEqual(4000);
      expect(retryDelayMs(failures, 0)).toBeGreaterThanOrEqual(125);
    }
  });

  it('SCH-9: stop() waits for the current round and starts no other', async () => {
    const ports = testPorts();
    let rounds = 0;
    let finish = () => {};
    const started = manualPromise();
    const loop = startLoop({
      ports,
      onFailure: expect.fail,
      runOnce: (signal) => {
        rounds++;
        started.resolve(signal);
        return new Promise((resolve) => {
          finish = () => resolve(0);
        });
      },
    });
    const signal = (await started.promise) as AbortSignal;
    let stopped = false;
    const stopping = loop.stop().then(() => {
      stopped = true;
    });
    expect(signal.aborted).toBe(true);
    await new Promise(setImmediate);
    expect(stopped).toBe(false);
    finish();
    await stopping;
    expect(rounds).toBe(1);
  });
});

function manualPromise() {
  let resolve: (value: unknown) => void = () => {};
  const promise = new Promise((r) => {
    resolve = r;
  });
  return { promise, resolve };
}
