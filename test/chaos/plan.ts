import type { Chance } from '../http/random.ts';
import type { Fault } from './fault.ts';
import { networkFaults } from './faults/network.ts';
import { postgresFaults } from './faults/postgres.ts';
import { processFaults } from './faults/processes.ts';
import { providerFaults } from './faults/provider.ts';
import { sessionFaults } from './faults/sessions.ts';
import { upgradeFaults } from './faults/upgrade.ts';

export const faults: readonly Fault[] = [
  ...processFaults,
  ...upgradeFaults,
  ...postgresFaults,
  ...sessionFaults,
  ...networkFaults,
  ...providerFaults,
];

/** The faults of one lane in order: first each once, then endless random rounds. */
export function* planOf(
  kinds: readonly Fault[],
  chance: Chance,
): Generator<{ fault: Fault; isFirst: boolean }> {
  const first = shuffled(kinds, chance).sort((a, b) => (b.lingersSeconds ?? 0) - (a.lingersSeconds ?? 0));
  for (const fault of first) yield { fault, isFirst: true };
  while (kinds.length > 0) {
    const round = kinds.flatMap((fault) => Array.from({ length: fault.perRound ?? 1 }, () => fault));
    for (const fault of shuffled(round, chance)) yield { fault, isFirst: false };
  }
}

function shuffled<T>(all: readonly T[], chance: Chance): T[] {
  const remaining = [...all];
  return all.map(() => remaining.splice(chance.below(remaining.length), 1)[0] as T);
}
