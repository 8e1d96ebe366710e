import type { Ports } from '../platform/ports.ts';
import type { Queryable } from '../store/database.ts';
import { lastPosition } from '../store/feed.ts';

/** How soon a waiting reader hears of a signal. One look at a sequence each time, for all readers of a process together. */
const pollMs = 200;
/** How often those are woken for whom a position was given that they have not found: once a second. */
const pollsPerWake = 5;

export interface Waited {
  /** What can be seen has been read up to here. */
  beyond: number;
  /** The last position that was known to be given when the reader looked, as the wait before said; 0 at first. */
  known: number;
}

export type FeedWatch = ReturnType<typeof createFeedWatch>;

/** Waits for the feed to grow. Nothing is asked while nobody waits. */
export function createFeedWatch({ db, ports }: { db: Queryable; ports: Ports }) {
  const waiting = new Set<Waited & { wake: (position: number) => void }>();
  let polling = false;
  let lastSeen = 0;
  /** How often the last position was found where it was. */
  let timesStill = 0;
  const never = new AbortController().signal;

  async function poll(): Promise<void> {
    polling = true;
    while (waiting.size > 0) {
      const position = await lastPosition(db).catch(() => undefined);
      if (position !== undefined) {
        timesStill = position === lastSeen ? timesStill + 1 : 0;
        lastSeen = position;
      }
      // Its transaction is about to commit, or it belongs to nobody: one that failed, or that Postgres skipped after a crash.
      const isTimeToLookAgain = timesStill === 1 || timesStill % pollsPerWake === 0;
      for (const one of [...waiting]) {
        // A database that cannot be reached is for the reader to notice, when it reads.
        if (position === undefined) one.wake(one.known);
        // A position below what has been read: the database was restored, and the reader finds out when it looks.
        else if (position !== one.beyond && (position !== one.known || isTimeToLookAgain)) one.wake(position);
      }
      if (waiting.size > 0) await ports.sleep(pollMs, never);
    }
    polling = false;
  }

  return {
    /**
     * Resolves when a position beyond this one has been given (or the sequence lies below it), when the time is over, or when the
     * signal aborts; with the last position that is known to be given. A reader that finds nothing there says so with its next wait, and is then woken
     * when another one is given, and now and then.
     */
    async wait({ beyond, known }: Waited, timeoutMs: number, signal?: AbortSignal): Promise<number> {
      const over = new AbortController();
      const ends = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
      let last = known;
      const wake = (position: number) => {
        last = position;
        over.abort('woken');
      };
      const one = { beyond, known, wake };
      waiting.add(one);
      if (!polling) void poll();
      await ports.sleep(timeoutMs, ends);
      waiting.delete(one);
      return last;
    },
  };
}
