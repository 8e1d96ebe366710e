import { startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import type { Queryable } from '../store/database.ts';
import { lastPosition } from '../store/feed.ts';

/** For all readers of a process. */
const pollMs = 200;
/** Rechecks once a second. */
const pollsPerWake = 5;

export interface Waited {
  /** Read up to here. */
  beyond: number;
  /** Of the previous wait; first 0. */
  known: number;
}

export interface FeedWatch {
  /**
   * Resolves with the last assigned position when it differs from `beyond`, on timeout or abort. As `known`,
   * it wakes the reader only on change or for a recheck.
   */
  wait(waited: Waited, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

/** Polls only while a reader waits. */
export function createFeedWatch({ db, ports }: { db: Queryable; ports: Ports }): FeedWatch {
  const waiting = new Set<Waited & { wake: (position: number) => void }>();
  let isPolling = false;
  let lastPolled = 0;
  let unchangedPolls = 0;

  async function poll(): Promise<number> {
    isPolling = waiting.size > 0;
    if (!isPolling) return Number.POSITIVE_INFINITY;
    const position = await lastPosition(db).catch(() => undefined);
    if (position === undefined) {
      // The next reads report the error.
      for (const reader of [...waiting]) reader.wake(reader.known);
      return pollMs;
    }
    unchangedPolls = position === lastPolled ? unchangedPolls + 1 : 0;
    lastPolled = position;
    // It may never appear (failed, or skipped after a crash).
    const isRecheckDue = unchangedPolls === 1 || unchangedPolls % pollsPerWake === 0;
    for (const reader of [...waiting]) {
      // Also lower: after a restore, reads report it.
      if (position !== reader.beyond && (position !== reader.known || isRecheckDue)) reader.wake(position);
    }
    return pollMs;
  }

  const polls = startLoop({ ports, runOnce: poll, onFailure: () => {} });

  return {
    async wait({ beyond, known }, timeoutMs, signal) {
      const woken = new AbortController();
      const wakeSignal = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
      let last = known;
      const wake = (position: number) => {
        last = position;
        woken.abort('woken');
      };
      const reader = { beyond, known, wake };
      waiting.add(reader);
      // A paused poll serves new readers.
      if (!isPolling) polls.wake();
      await ports.sleep(timeoutMs, wakeSignal);
      waiting.delete(reader);
      return last;
    },
  };
}
