import { bundle } from './bundle.ts';
import { simulateAll } from './crew.ts';
import type { Mutant } from './mutants.ts';

export interface Hunt {
  serverUrl: string;
  mutants: readonly Mutant[];
  /** The most seeds that a mutant may take. */
  most: number;
  workers: number;
  onResult?: (result: Caught) => void;
}

export interface Caught {
  name: string;
  /** The seed that showed it; undefined if none did. */
  caughtBy: number | undefined;
  /** How many were tried. */
  tried: number;
  sentence: string;
}

/** Puts each mistake into the engine and looks whether a simulation notices: first the seeds that did before, then others. */
export async function hunt({ serverUrl, mutants, most, workers, onResult }: Hunt): Promise<Caught[]> {
  const results: Caught[] = [];
  const left = [...mutants];
  const lane = async () => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const result = await huntOne(serverUrl, mutant, most);
      results.push(result);
      onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: workers }, lane));
  return results;
}

async function huntOne(serverUrl: string, mutant: Mutant, most: number): Promise<Caught> {
  const { script, remove } = await bundle(mutant);
  try {
    const hinted = mutant.seeds;
    const others = Array.from({ length: most }, (_, i) => i + 1).filter((seed) => !hinted.includes(seed));
    const seeds = [...hinted, ...others].slice(0, most);
    const reports = await simulateAll({ serverUrl, script, seeds, workers: 1, stopsAtFirst: true });
    const shown = reports.find(({ violations }) => violations.length > 0);
    const tried = reports.length;
    const sentence = shown
      ? `noticed by seed ${shown.seed}, the ${tried}. tried: ${mutant.name} (${shown.violations[0]?.invariant})`
      : `NOT NOTICED in ${tried} seeds: ${mutant.name}`;
    return { name: mutant.name, caughtBy: shown?.seed, tried, sentence };
  } finally {
    remove();
  }
}
