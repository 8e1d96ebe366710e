import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Bundle, bundle } from './bundle.ts';
import { simulateAll } from './crew.ts';
import { describeFailure, missedSituations } from './report.ts';

/** Enough that each situation is met by several of them. */
const seeds = Array.from({ length: 220 }, (_, i) => i + 1);
/** They mostly wait for Postgres. */
const workers = 4;

describe('several engines on one Postgres, with every step, fault and clock decided by a seed', () => {
  let built: Bundle;
  beforeAll(async () => {
    built = await bundle();
  });
  afterAll(() => built?.remove());

  it('nothing that is promised is broken, and every situation was met', {
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
    expect(missedSituations(reports)).toEqual([]);
  });

  it('the same seed is the same simulation, step by step', { timeout: 900_000 }, async () => {
    const some = seeds.filter((seed) => seed % 40 === 0);
    const hashes = async (order: number[]) => {
      const run = { serverUrl: inject('serverUrl'), script: built.script, seeds: order, workers };
      return (await simulateAll(run)).map(({ seed, hash }) => `${seed} ${hash}`);
    };
    expect(await hashes([...some].reverse())).toEqual(await hashes(some));
  });
});
