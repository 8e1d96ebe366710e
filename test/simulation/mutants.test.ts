import { describe, expect, inject, it } from 'vitest';
import { hunt } from './hunt.ts';
import { mutants } from './mutants.ts';

describe('mistakes in the engine', () => {
  it('are each noticed by a simulation', { timeout: 1_800_000 }, async () => {
    expect(mutants.length).toBeGreaterThanOrEqual(20);
    const results = await hunt({ serverUrl: inject('serverUrl'), mutants, most: 100, workers: 4 });
    const survivors = results.filter(({ caughtBy }) => caughtBy === undefined).map(({ name }) => name);
    expect(survivors).toEqual([]);
    expect(results).toHaveLength(mutants.length);
  });
});
