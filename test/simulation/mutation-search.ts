import { buildWorker } from './build-worker.ts';
import type { Mutant } from './mutants.ts';
import { simulateAll } from './workers.ts';

export interface MutationSearch {
  serverUrl: string;
  mutants: readonly Mutant[];
  maxSeeds: number;
  workers: number;
  onResult?: (result: MutantResult) => void;
}

export interface MutantResult {
  name: string;
  detectedBy: number | undefined;
  seedsTried: number;
  summary: string;
}

/** Tries the recorded seeds first. */
export async function searchMutants({
  serverUrl,
  mutants,
  maxSeeds,
  workers,
  onResult,
}: MutationSearch): Promise<MutantResult[]> {
  const results: MutantResult[] = [];
  const remaining = [...mutants];
  const worker = async () => {
    for (let mutant = remaining.shift(); mutant; mutant = remaining.shift()) {
      const result = await searchMutant(serverUrl, mutant, maxSeeds);
      results.push(result);
      onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}

async function searchMutant(serverUrl: string, mutant: Mutant, maxSeeds: number): Promise<MutantResult> {
  const { script, remove } = await buildWorker(mutant);
  try {
    const recorded = mutant.seeds;
    const others = Array.from({ length: maxSeeds }, (_, i) => i + 1).filter(
      (seed) => !recorded.includes(seed),
    );
    const seeds = [...recorded, ...others].slice(0, maxSeeds);
    const reports = await simulateAll({ serverUrl, script, seeds, workers: 1, stopAtFirst: true });
    const detected = reports.find(({ violations }) => violations.length > 0);
    const seedsTried = reports.length;
    const summary = detected
      ? `seed ${detected.seed} (${seedsTried} tried): ${mutant.name} (${detected.violations[0]?.invariant})`
      : `NOT DETECTED in ${seedsTried} seeds: ${mutant.name}`;
    return { name: mutant.name, detectedBy: detected?.seed, seedsTried, summary };
  } finally {
    remove();
  }
}
