import type { Chance } from '../http/random.ts';
import { networkFaults } from './faults/network.ts';
import { postgresFaults } from './faults/postgres.ts';
import { processFaults } from './faults/processes.ts';
import { providerFaults } from './faults/provider.ts';
import { sessionFaults } from './faults/sessions.ts';
import { upgradeFaults } from './faults/upgrade.ts';
import type { Fault } from './world.ts';

/** Every kind there is. */
export const faults: readonly Fault[] = [
  ...processFaults,
  ...upgradeFaults,
  ...postgresFaults,
  ...sessionFaults,
  ...networkFaults,
  ...providerFaults,
];

/** One lane's faults in the order in which they come: first each of them once, then rounds without end. */
export function* planOf(
  kinds: readonly Fault[],
  chance: Chance,
): Generator<{ fault: Fault; isFirst: boolean }> {
  const first = shuffled(kinds, chance).sort((a, b) => (b.lingersSeconds ?? 0) - (a.lingersSeconds ?? 0));
  for (const fault of first) yield { fault, isFirst: true };
  while (kinds.length > 0) {
    const round = kinds.flatMap((fault) => Array.from({ length: fault.often ?? 1 }, () => fault));
    for (const fault of shuffled(round, chance)) yield { fault, isFirst: false };
  }
}

function shuffled<T>(all: readonly T[], chance: Chance): T[] {
  const left = [...all];
  return all.map(() => left.splice(chance.below(left.length), 1)[0] as T);
}
