import type { Ports } from '../platform/ports.ts';
import type { Queryable } from '../store/database.ts';
import { lastPosition } from '../store/feed.ts';

/** One poll for all readers of a process. */
const pollMs = 200;
/** Recheck of invisible positions: once a second. */
const pollsPerWake = 5;

export interface Waited {
  /** Read up to here. */
  beyond: number;
  /** Result of the previous wait; 0 at first. */
  known: number;
}

export type FeedWatch = ReturnType<typeof createFeedWatch>;

/** Only while a reader waits. */
export function createFeedWatch({ db, ports }: { db: Queryable; ports: Ports }) {
  const waiting = new Set<Waited & { wake: (position: number) => void }>();
  let polling = false;
  let lastPolled = 0;
  let unchangedPolls = 0;
  const never = new AbortController().signal;

  async function poll(): Promise<void> {
    polling = true;
    while (waiting.size > 0) {
      const position = await lastPosition(db).catch(() => undefined);
      if (position !== undefined) {
        unchangedPolls = position === lastPolled ? unchangedPolls + 1 : 0;
        lastPolled = position;
      }
      // It may never appear (failed, or skipped after a crash).
      const isRecheckDue = unchangedPolls === 1 || unchangedPolls % pollsPerWake === 0;
      for (const reader of [...waiting]) {
        // The next read reports the error.
        if (position === undefined) reader.wake(reader.known);
        // Also lower: after a restore the next read reports it.
        else if (position !== reader.beyond && (position !== reader.known || isRecheckDue))
          reader.wake(position);
      }
      if (waiting.size > 0) await ports.sleep(pollMs, never);
    }
    polling = false;
  }

  return {
    /**
     * Resolves with the last assigned position when it differs from `beyond`, on timeout or abort. As
     * `known`, it wakes the reader only when it changes or a recheck is due.
     */
    async wait({ beyond, known }: Waited, timeoutMs: number, signal?: AbortSignal): Promise<number> {
      const woken = new AbortController();
      const wakeSignal = signal ? AbortSignal.any([signal, woken.signal]) : woken.signal;
      let last = known;
      const wake = (position: number) => {
        last = position;
        woken.abort('woken');
      };
      const reader = { beyond, known, wake };
      waiting.add(reader);
      if (!polling) void poll();
      await ports.sleep(timeoutMs, wakeSignal);
      waiting.delete(reader);
      return last;
    },
  };
}
