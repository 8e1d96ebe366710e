import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Bundle } from '../support/bundle.ts';
import { isFullSize, sized } from '../support/size.ts';
import { buildWorker } from './build-worker.ts';
import { describeFailure, missedSituations } from './report.ts';
import type { Report } from './worker.ts';
import { simulateAll } from './workers.ts';

/** At full size enough that each situation occurs in several of them. */
const seeds = Array.from({ length: sized(220, 3) }, (_, i) => i + 1);
const workers = 4;

describe('simulation: several engines on one Postgres, determined by a seed', () => {
  let built: Bundle;
  let reports: Report[];
  const simulate = (order: number[]) =>
    simulateAll({ serverUrl: inject('serverUrl'), script: built.script, seeds: order, workers });
  beforeAll(async () => {
    built = await buildWorker();
    reports = await simulate(seeds);
  }, 1_800_000);
  afterAll(() => built?.remove());

  it('simulation: no invariant is violated, and every situation occurs', () => {
    const failed = reports.filter(({ violations }) => violations.length > 0);
    expect(failed.slice(0, 3).map(describeFailure).join('\n\n')).toBe('');
    expect(reports).toHaveLength(seeds.length);
    if (isFullSize) expect(missedSituations(reports)).toEqual([]);
  });

  it('simulation: runs of the same seed have identical traces', { timeout: 900_000 }, async () => {
    const sample = seeds.filter((seed) => seed % sized(40, 3) === 0);
    const hashes = (of: Report[]) =>
      of.filter(({ seed }) => sample.includes(seed)).map(({ seed, hash }) => `${seed} ${hash}`);
    expect(hashes(await simulate([...sample].reverse()))).toEqual(hashes(reports));
  });
});
