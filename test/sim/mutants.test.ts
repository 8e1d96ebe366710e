import { describe, expect, inject, it } from 'vitest';
import { hunt } from './hunt.ts';
import { mutants } from './mutants.ts';

/** Those of which it is known which seed shows them; `npm run sim -- --mutants` tries all, with many seeds each. */
const known = mutants.filter(({ seeds = [] }) => seeds.length > 0);

describe('mistakes in the engine', () => {
  it('are each noticed by a simulation', { timeout: 1_800_000 }, async () => {
    const results = await hunt({ serverUrl: inject('serverUrl'), mutants: known, most: 25, workers: 2 });
    const survivors = results.filter(({ caughtBy }) => caughtBy === undefined).map(({ name }) => name);
    expect(survivors).toEqual([]);
    expect(results).toHaveLength(known.length);
  });
});
