import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jitterRange, sampleJitter } from '../../src/schedule/jitter.ts';

const anyBase = fc.integer({ min: 60, max: 604_800 });
/** Hundredths, as configured: 0.07 has no exact binary form. */
const anyBounds = fc
  .tuple(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 0, max: 100 }))
  .map(([a, b]) => ({ jitterPctMin: Math.min(a, b) / 100, jitterPctMax: Math.max(a, b) / 100 }));

/** A seeded uniform generator, so that statistical tests are deterministic. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('SCH-4: jitter', () => {
  it('SCH-4: the default bounds give 0 to 180 seconds for 15 minutes', () => {
    expect(jitterRange(900, { jitterPctMin: 0, jitterPctMax: 0.2 })).toEqual({
      minSeconds: 0,
      maxSeconds: 180,
    });
  });

  it('SCH-4: custom bounds of 5 % and 30 % give 45 to 270 seconds for 15 minutes', () => {
    expect(jitterRange(900, { jitterPctMin: 0.05, jitterPctMax: 0.3 })).toEqual({
      minSeconds: 45,
      maxSeconds: 270,
    });
  });

  it('SCH-4: bounds have no floating-point error: 7 % of 100 is 7, 29 % of 100 is 29', () => {
    expect(jitterRange(100, { jitterPctMin: 0.07, jitterPctMax: 0.29 })).toEqual({
      minSeconds: 7,
      maxSeconds: 29,
    });
  });

  it('SCH-4: without a whole second within the bounds, the lower one is used', () => {
    expect(jitterRange(90, { jitterPctMin: 0.01, jitterPctMax: 0.01 })).toEqual({
      minSeconds: 0,
      maxSeconds: 0,
    });
  });

  it('SCH-4: every sample is a whole second within the bounds computed in integers', () => {
    fc.assert(
      fc.property(
        anyBase,
        anyBounds,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (base, bounds, random) => {
          const jitter = sampleJitter(jitterRange(base, bounds), random);
          const hundredths = (fraction: number) => Math.round(fraction * 100) * base;
          const maxSeconds = Math.floor(hundredths(bounds.jitterPctMax) / 100);
          const minSeconds = Math.min(maxSeconds, Math.ceil(hundredths(bounds.jitterPctMin) / 100));
          expect(Number.isInteger(jitter)).toBe(true);
          expect(jitter).toBeGreaterThanOrEqual(minSeconds);
          expect(jitter).toBeLessThanOrEqual(maxSeconds);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('SCH-4: both ends of the range are reached', () => {
    const range = jitterRange(900, { jitterPctMin: 0.05, jitterPctMax: 0.3 });
    expect(sampleJitter(range, 0)).toBe(45);
    expect(sampleJitter(range, 1 - Number.EPSILON)).toBe(270);
  });

  it('SCH-4: samples are uniform: chi-squared over 181 seconds is below its 99.9 % point', () => {
    const range = jitterRange(900, { jitterPctMin: 0, jitterPctMax: 0.2 });
    const random = seeded(20250101);
    const [samples, cells] = [181_000, 181];
    const seen = new Array<number>(cells).fill(0);
    for (let i = 0; i < samples; i++) {
      const jitter = sampleJitter(range, random());
      seen[jitter] = (seen[jitter] ?? 0) + 1;
    }
    const expected = samples / cells;
    const chiSquared = seen.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    // 180 degrees of freedom.
    expect(chiSquared).toBeLessThan(244.37);
  });

  it('SCH-4: samples are independent: adjacent ones do not correlate', () => {
    const range = jitterRange(900, { jitterPctMin: 0, jitterPctMax: 0.2 });
    const random = seeded(7);
    const samples = Array.from({ length: 50_000 }, () => sampleJitter(range, random()));
    const mean = samples.reduce((a, b) => a + b) / samples.length;
    const variance = samples.reduce((sum, x) => sum + (x - mean) ** 2, 0) / samples.length;
    const covariance =
      samples.slice(1).reduce((sum, x, i) => sum + (x - mean) * ((samples[i] ?? 0) - mean), 0) /
      samples.length;
    expect(Math.abs(covariance / variance)).toBeLessThan(0.02);
  });
});
