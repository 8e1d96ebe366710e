import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bundle, bundle } from './bundle.ts';
import { simulateAll } from './crew.ts';
import { describeFailure, missedSituations } from './report.ts';
import { situations } from './situations.ts';

/** `npm run sim` tries more, and there each situation must be met. */
const seeds = Array.from({ length: 100 }, (_, i) => i + 1);
const workers = 3;
/** So few seeds need not come through the rarest places; fewer than these, and they have proven nothing. */
const fewestSituations = 25;

describe('several engines on one Postgres, with every step, fault and clock decided by a seed', () => {
  let built: Bundle;
  beforeAll(async () => {
    built = await bundle();
  });
  afterAll(() => built?.remove());

  it('nothing that is promised is broken, and enough situations were met', {
    timeout: 1_800_000,
  }, async () => {
    const reports = await simulateAll({
      serverUrl: inject('serverUrl'),
      script: built.script,
      seeds,
      workers,
    });
    const failed = reports.filter(({ violations }) => violations.length > 0);
    expect(failed.slice(0, 3).map(describeFailure).join('\n\n')).toBe('');
    expect(reports).toHaveLength(seeds.length);
    expect(situations.length - missedSituations(reports).length).toBeGreaterThanOrEqual(fewestSituations);
  });

  it('the same seed is the same simulation, step by step', { timeout: 900_000 }, async () => {
    const some = seeds.filter((seed) => seed % 25 === 0);
    const hashes = async (order: number[]) => {
      const run = { serverUrl: inject('serverUrl'), script: built.script, seeds: order, workers };
      return (await simulateAll(run)).map(({ seed, hash }) => `${seed} ${hash}`);
    };
    expect(await hashes([...some].reverse())).toEqual(await hashes(some));
  });
});
