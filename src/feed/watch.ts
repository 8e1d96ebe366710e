import type { Ports } from '../ports.ts';
import type { Queryable } from '../store/database.ts';
import { lastPosition } from '../store/feed.ts';

/** How soon a waiting reader hears of a signal. One look at a sequence each time, for all readers of a process together. */
const pollMs = 200;

export type FeedWatch = ReturnType<typeof createFeedWatch>;

/** Waits for the feed to grow. Nothing is asked while nobody waits. */
export function createFeedWatch({ db, ports }: { db: Queryable; ports: Ports }) {
  const waiting = new Set<{ beyond: number; wake: () => void }>();
  let polling = false;
  const never = new AbortController().signal;

  async function poll(): Promise<void> {
    polling = true;
    while (waiting.size > 0) {
      // A database that cannot be reached is for the reader to notice, when it reads.
      const last = await lastPosition(db).catch(() => Number.POSITIVE_INFINITY);
      for (const one of [...waiting]) if (last > one.beyond) one.wake();
      if (waiting.size > 0) await ports.sleep(pollMs, never);
    }
    polling = false;
  }

  return {
    /** Resolves when a position beyond this one has been given, when the time is over, or when the signal aborts. */
    async wait(beyond: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
      const over = new AbortController();
      const ends = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
      const one = { beyond, wake: () => over.abort('woken') };
      waiting.add(one);
      if (!polling) void poll();
      await ports.sleep(timeoutMs, ends);
      waiting.delete(one);
    },
  };
}
