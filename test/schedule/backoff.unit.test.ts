import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffSeconds, pageSeconds } from '../../src/schedule/backoff.ts';

const defaults = { baseSeconds: 5, maxSeconds: 900, jitterFactor: 0.1 };
const week = 7 * 24 * 3600;

const policy = fc
  .record({
    baseSeconds: fc.integer({ min: 1, max: 3600 }),
    maxSeconds: fc.integer({ min: 1, max: 86_400 }),
    jitterFactor: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .filter(({ baseSeconds, maxSeconds }) => baseSeconds <= maxSeconds);
const attempts = fc.oneof(fc.nat(20), fc.nat(10_000), fc.constant(2 ** 31 - 1));
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('EXE-7: backoff', () => {
  it.each([
    [0, 5],
    [1, 10],
    [3, 40],
    [7, 640],
    [8, 900],
    [10_000, 900],
  ])('EXE-7: after %i failures the pause is %i s before jitter', (failures, seconds) => {
    expect(backoffSeconds(defaults, failures, undefined, 0)).toBe(seconds);
    expect(backoffSeconds(defaults, failures, undefined, 0.999_999)).toBeCloseTo(seconds * 1.1, 2);
  });

  it('EXE-7: for any attempts, the pause is finite and at most the exponential plus jitter', () => {
    fc.assert(
      fc.property(policy, attempts, random, (limits, failures, r) => {
        const pause = backoffSeconds(limits, failures, undefined, r);
        const exponential = Math.min(limits.baseSeconds * 2 ** failures, limits.maxSeconds);
        expect(Number.isFinite(pause)).toBe(true);
        expect(pause).toBeGreaterThanOrEqual(exponential);
        // The same sum as in the source, so that both sides round alike.
        expect(pause).toBeLessThanOrEqual(exponential + limits.jitterFactor * exponential);
      }),
    );
  });

  it('EXE-7: the pause never decreases with more failures', () => {
    fc.assert(
      fc.property(policy, fc.nat(10_000), random, (limits, failures, r) => {
        expect(backoffSeconds(limits, failures + 1, undefined, r)).toBeGreaterThanOrEqual(
          backoffSeconds(limits, failures, undefined, r),
        );
      }),
    );
  });

  it('EXE-7: a longer retry-after replaces the exponential, plus jitter; a shorter one has no effect', () => {
    fc.assert(
      fc.property(
        policy,
        attempts,
        random,
        fc.integer({ min: 1, max: week }),
        (limits, failures, r, hint) => {
          const without = backoffSeconds(limits, failures, undefined, r);
          const exponential = Math.min(limits.baseSeconds * 2 ** failures, limits.maxSeconds);
          const pause = backoffSeconds(limits, failures, hint, r);
          if (hint <= exponential) expect(pause).toBe(without);
          else expect(pause).toBeCloseTo(hint * (1 + r * limits.jitterFactor), 6);
        },
      ),
    );
  });

  it.each([
    Number.NaN,
    -5,
    0,
    Number.NEGATIVE_INFINITY,
    '60' as unknown as number,
    null as unknown as number,
  ])('EXE-7: a retry-after of %s is ignored', (hint) => {
    expect(backoffSeconds(defaults, 0, hint, 0)).toBe(5);
  });

  it.each([Number.POSITIVE_INFINITY, 1e300, week + 1])(
    'EXE-7: a retry-after of %s s is limited to a week',
    (hint) => {
      expect(backoffSeconds(defaults, 0, hint, 0)).toBe(week);
    },
  );

  it('EXE-7: the jitter is uniform over its range', () => {
    const rounds = 20_000;
    const tenths = new Array<number>(10).fill(0);
    for (let i = 0; i < rounds; i++) {
      const jitter = backoffSeconds(defaults, 3, undefined, Math.random()) - 40;
      const tenth = Math.floor((jitter / 4) * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    expect(tenths).toHaveLength(10);
    // Within ten standard deviations of the mean.
    for (const count of tenths)
      expect(Math.abs(count - rounds / 10)).toBeLessThan(10 * Math.sqrt(rounds * 0.09));
  });

  it('EXE-7: the next page waits for retry-after plus jitter, or not at all without it', () => {
    fc.assert(
      fc.property(policy, random, fc.integer({ min: 1, max: week }), (limits, r, seconds) => {
        const pause = pageSeconds(limits, seconds, r);
        expect(pause).toBeGreaterThanOrEqual(seconds);
        expect(pause).toBeLessThanOrEqual(seconds + limits.jitterFactor * seconds);
      }),
    );
    for (const none of [undefined, 0]) expect(pageSeconds(defaults, none, 0.5)).toBe(0);
    for (const unbounded of [1e308, Number.POSITIVE_INFINITY])
      expect(pageSeconds(defaults, unbounded, 0)).toBe(week);
  });
});
