import { SynclineError } from '../errors.ts';

/** So much waits at most: more than that would be answered after whoever sent it has given up. */
const mostWaiting = 5000;

export interface Lanes {
  /** Does the work as soon as a lane is free, in the order of asking. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** Bounds how much is asked of the database at once: a flood waits here rather than take every connection of the pool. */
export function createLanes(count: number): Lanes {
  const waiting: (() => void)[] = [];
  let free = count;

  async function enter(): Promise<void> {
    if (free > 0) {
      free--;
      return;
    }
    if (waiting.length >= mostWaiting)
      throw new SynclineError('DATABASE_UNREACHABLE', `${mostWaiting} deliveries are waiting already.`, {
        hint: 'They come in faster than the database takes them.',
      });
    await new Promise<void>((resolve) => waiting.push(resolve));
  }

  return {
    async run(work) {
      await enter();
      try {
        return await work();
      } finally {
        // Handed over rather than freed, so that nobody overtakes who waits.
        const next = waiting.shift();
        if (next) next();
        else free++;
      }
    },
  };
}
