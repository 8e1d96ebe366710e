import { describe, expect, inject, it } from 'vitest';
import { sized } from '../support/size.ts';
import { mutants } from './mutants.ts';
import { searchMutants } from './mutation-search.ts';

describe('simulation: mutants of the engine', () => {
  it('simulation: every mutant is detected by a simulation', { timeout: 1_800_000 }, async () => {
    expect(mutants.length).toBeGreaterThanOrEqual(20);
    // At small size every seventeenth.
    const chosen = mutants.filter((_, i) => i % sized(1, 17) === 0);
    const results = await searchMutants({
      serverUrl: inject('serverUrl'),
      mutants: chosen,
      maxSeeds: 100,
      workers: 4,
    });
    const survivors = results.filter(({ detectedBy }) => detectedBy === undefined).map(({ name }) => name);
    expect(survivors).toEqual([]);
    expect(results).toHaveLength(chosen.length);
  });
});
