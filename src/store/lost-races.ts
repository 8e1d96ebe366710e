import type { Ports } from '../platform/ports.ts';
import { isLostRace } from './database-errors.ts';

/** A lost race is rare; losing this many in a row has another cause, and the caller hears of it. */
const maxTries = 6;
const firstPauseMs = 5;

/**
 * Runs `work` again while Postgres rolls it back because of another transaction (serialization failure, deadlock). Nothing of it was
 * stored then. The pauses double from 5 ms and are half random, so that two that met do not meet again.
 */
export async function retryLostRaces<T>(
  { sleep, random }: Pick<Ports, 'sleep' | 'random'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isLostRace(error) || tries === maxTries) throw error;
      const pauseMs = firstPauseMs * 2 ** tries;
      await sleep(pauseMs * (0.5 + random() / 2), new AbortController().signal);
    }
  }
}
