import type { Ports } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { maxPageBytes } from '../values/limits.ts';
import { Problem } from './problem.ts';

/** From before the query until the body is sent. */
export interface ResponseMemory {
  open(holder: string): Reservation;
}

export interface Reservation {
  /** One page; 503 after a timeout. */
  reserve(): Promise<void>;
  resize(bytes: number): void;
  release(): void;
}

/** Longer waits are caused by slow clients. */
const defaultWaitMs = 5000;

interface Waiter {
  holder: string;
  admit: () => void;
}

export function createResponseMemory(
  totalBytes: number,
  ports: Pick<Ports, 'sleep'>,
  { waitMs = defaultWaitMs }: { waitMs?: number } = {},
): ResponseMemory {
  const heldBy = new Map<string, number>();
  const queue = new Set<Waiter>();
  let taken = 0;

  /** An empty budget fits one page; a caller gets at most half. */
  function fits(holder: string): boolean {
    const own = heldBy.get(holder) ?? 0;
    const isWithin = (held: number, bytes: number) => held === 0 || held + maxPageBytes <= bytes;
    return isWithin(taken, totalBytes) && isWithin(own, totalBytes / 2);
  }

  function take(holder: string, bytes: number): void {
    taken += bytes;
    const own = (heldBy.get(holder) ?? 0) + bytes;
    if (own > 0) heldBy.set(holder, own);
    else heldBy.delete(holder);
  }

  function admitNext(): void {
    for (const waiter of queue) if (fits(waiter.holder)) waiter.admit();
  }

  function waitForPage(holder: string): Promise<void> {
    if (queue.size === 0 && fits(holder)) {
      take(holder, maxPageBytes);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        cancelTimeout();
        queue.delete(waiter);
      };
      const waiter: Waiter = {
        holder,
        admit: () => {
          leave();
          take(holder, maxPageBytes);
          resolve();
        },
      };
      const cancelTimeout = startTimer(ports, waitMs, () => {
        leave();
        reject(outOfMemory(totalBytes));
      });
      queue.add(waiter);
      admitNext();
    });
  }

  return {
    open(holder) {
      let own = 0;
      const resize = (bytes: number) => {
        take(holder, bytes - own);
        own = bytes;
        admitNext();
      };
      return {
        async reserve() {
          if (own > 0) return;
          await waitForPage(holder);
          own = maxPageBytes;
        },
        resize,
        release: () => resize(0),
      };
    },
  };
}

const outOfMemory = (bytes: number) =>
  new Problem('TOO_MANY', `The memory for responses (${bytes} bytes) is in use.`, {
    status: 503,
    hint: 'Try again, request smaller pages, or read responses faster.',
    headers: { 'retry-after': '2' },
  });
