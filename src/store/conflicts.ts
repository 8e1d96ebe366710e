import type { Ports } from '../platform/ports.ts';
import { isConflict } from './database-errors.ts';

/** More conflicts in a row have another cause. */
const maxTries = 6;
const firstPauseMs = 5;

/**
 * Retries after serialization failure or deadlock, which roll back completely. Pauses double from 10 ms, with
 * 50 % jitter so that the transactions do not collide again.
 */
export async function retryConflicts<T>(
  { sleep, random }: Pick<Ports, 'sleep' | 'random'>,
  work: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || tries === maxTries) throw error;
      const pauseMs = firstPauseMs * 2 ** tries;
      await sleep(pauseMs * (0.5 + random() / 2), new AbortController().signal);
    }
  }
}
