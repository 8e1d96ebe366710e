import { expect } from 'vitest';
import { type Chance, chanceOf } from '../http/random.ts';
import { seed } from '../support/seed.ts';

/** How much is tried, and from which seed on: a few thousand with all other tests, as many as are wanted with `npm run fuzz`. */
export interface Fuzzing {
  what: 'requests' | 'results' | 'documents';
  count: number;
  perRound: number;
  seed: number;
}

const given = (name: string) => (process.env[name] ? Number(process.env[name]) : undefined);

export function fuzzing(what: Fuzzing['what'], usually: number, perRound: number): Fuzzing {
  return {
    what,
    count: given(`FUZZ_${what.toUpperCase()}`) ?? usually,
    perRound,
    seed,
  };
}

/** A quarter of a second for each, on however slow a machine. */
export const maxMs = ({ count }: Fuzzing): number => 60_000 + count * 250;

/** One round: `size` of them by this chance. Says everything that was wrong. */
export type Round = (chance: Chance, size: number, seed: number) => Promise<string[]>;

/** Every round has a seed of its own, so that the one that failed can be run alone. */
export async function inRounds({ what, count, perRound, seed }: Fuzzing, round: Round): Promise<void> {
  const startedMs = performance.now();
  for (let done = 0, own = seed; done < count; own++) {
    const size = Math.min(perRound, count - done);
    const faults = await round(chanceOf(own), size, own);
    const replay = `npm run fuzz -- --only ${what} --${what} ${size} --seed ${own}`;
    expect(faults.slice(0, 10), `${faults.length} faults; again with: ${replay}`).toEqual([]);
    done += size;
    if (given('FUZZ_PROGRESS'))
      tell(`${what}: ${done} of ${count}, ${perSecond(done, startedMs)} a second\n`);
  }
}

const tell = (text: string) => void process.stderr.write(text);
const perSecond = (done: number, startedMs: number) =>
  Math.round((done * 1000) / (performance.now() - startedMs));
