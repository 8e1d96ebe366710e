import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ageEdgesSeconds,
  bucketOf,
  type Edges,
  lagEdgesMs,
  percentile,
} from '../../src/store/rollup-buckets.ts';

const shares = fc.double({ min: 0, max: 1, noNaN: true });
const values = (max: number) => fc.array(fc.double({ min: 0, max, noNaN: true }), { minLength: 1 });

function histogramOf(all: number[], edges: Edges): number[] {
  const counts = Array.from({ length: edges.length + 1 }, () => 0);
  for (const value of all) {
    const bucket = bucketOf(value, edges);
    counts[bucket] = (counts[bucket] as number) + 1;
  }
  return counts;
}

describe.each([
  ['lags', lagEdgesMs],
  ['ages', ageEdgesSeconds],
])('percentiles of %s', (_name, edges) => {
  const last = edges.at(-1) as number;

  it('percentiles: edges are strictly increasing', () => {
    expect(edges).toEqual(edges.toSorted((a, b) => a - b));
    expect(new Set(edges).size).toBe(edges.length);
  });

  it('percentiles: a value is in the first bucket whose edge it does not exceed', () => {
    for (const [i, edge] of edges.entries()) {
      expect(bucketOf(edge, edges)).toBe(i);
      expect(bucketOf(edge + 0.001, edges)).toBe(i + 1);
    }
    expect(bucketOf(0, edges)).toBe(0);
    expect(bucketOf(Number.POSITIVE_INFINITY, edges)).toBe(edges.length);
  });

  it('percentiles: are in the bucket of the exact percentile', () => {
    fc.assert(
      fc.property(values(2 * last), shares, (all, share) => {
        const sorted = all.toSorted((a, b) => a - b);
        const exact = sorted[Math.max(0, Math.ceil(share * all.length) - 1)] as number;
        const bucket = bucketOf(exact, edges);
        const estimate = percentile(histogramOf(all, edges), edges, share) as number;
        expect(estimate).toBeGreaterThanOrEqual(bucket === 0 ? 0 : (edges[bucket - 1] as number));
        expect(estimate).toBeLessThanOrEqual(edges[bucket] ?? last);
      }),
    );
  });

  it('percentiles: do not decrease as the share grows', () => {
    fc.assert(
      fc.property(values(2 * last), shares, shares, (all, one, other) => {
        const counts = histogramOf(all, edges);
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        expect(percentile(counts, edges, low) as number).toBeLessThanOrEqual(
          percentile(counts, edges, high) as number,
        );
      }),
    );
  });

  it('percentiles: do not change when all counts are scaled', () => {
    fc.assert(
      fc.property(values(2 * last), shares, fc.integer({ min: 2, max: 1000 }), (all, share, times) => {
        const counts = histogramOf(all, edges);
        const scaled = counts.map((count) => count * times);
        const unscaled = percentile(counts, edges, share) as number;
        expect(percentile(scaled, edges, share)).toBeCloseTo(unscaled, 3);
      }),
    );
  });

  it('percentiles: are undefined without values and capped at the last edge', () => {
    const none = Array.from({ length: edges.length + 1 }, () => 0);
    expect(percentile(none, edges, 0.5)).toBeUndefined();
    expect(percentile([...none.slice(1), 3], edges, 0.5)).toBe(last);
  });
});

it('percentiles: are interpolated linearly within a bucket', () => {
  expect(percentile([0, 4, 0], [100, 200], 0.5)).toBe(150);
  expect(percentile([0, 4, 0], [100, 200], 0.25)).toBe(125);
  expect(percentile([1, 1, 0], [100, 200], 0.95)).toBeCloseTo(190);
});
