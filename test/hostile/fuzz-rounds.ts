import { expect } from 'vitest';
import { type Chance, chanceOf } from '../http/random.ts';
import { seed } from '../support/seed.ts';
import { sized } from '../support/size.ts';

/** The number of cases and the first seed; `npm run fuzz` sets them. */
export interface Fuzzing {
  what: 'requests' | 'results' | 'documents';
  count: number;
  perRound: number;
  seed: number;
}

const numberFromEnv = (name: string) => (process.env[name] ? Number(process.env[name]) : undefined);

export function fuzzing(what: Fuzzing['what'], defaultCount: number, perRound: number): Fuzzing {
  return {
    what,
    count: numberFromEnv(`FUZZ_${what.toUpperCase()}`) ?? sized(defaultCount, Math.ceil(defaultCount / 5)),
    perRound,
    seed,
  };
}

/** Allows 250 ms per case, for slow machines. */
export const timeoutMs = ({ count }: Fuzzing): number => 60_000 + count * 250;

/** Runs `size` cases and returns all faults. */
export type Round = (chance: Chance, size: number, seed: number) => Promise<string[]>;

/** Each round has its own seed, so that a failed round can be repeated alone. */
export async function inRounds({ what, count, perRound, seed }: Fuzzing, round: Round): Promise<void> {
  const startedMs = performance.now();
  for (let done = 0, roundSeed = seed; done < count; roundSeed++) {
    const size = Math.min(perRound, count - done);
    const faults = await round(chanceOf(roundSeed), size, roundSeed);
    const replay = `npm run fuzz -- --only ${what} --${what} ${size} --seed ${roundSeed}`;
    expect(faults.slice(0, 10), `${faults.length} faults; repeat with: ${replay}`).toEqual([]);
    done += size;
    if (numberFromEnv('FUZZ_PROGRESS'))
      print(`${what}: ${done} of ${count}, ${perSecond(done, startedMs)} per second\n`);
  }
}

const print = (text: string) => void process.stderr.write(text);
const perSecond = (done: number, startedMs: number) =>
  Math.round((done * 1000) / (performance.now() - startedMs));
