import type { Ports } from './ports.ts';
import { startTimer } from './timer.ts';

/** Admits waiters round-robin by holder, FIFO within a holder. */
export interface Semaphore {
  isFull(): boolean;
  run<T>(work: () => Promise<T>, holder?: string): Promise<T>;
}

export interface SemaphoreOptions {
  /** Default: unlimited. */
  maxWaiting?: number;
  /** When full or after `maxWait`. */
  refusal?: () => Error;
  maxWait?: { ms: number; ports: Pick<Ports, 'sleep'> };
  /** Reserves the last free slot for holders that have none. */
  fair?: boolean;
}

interface Waiter {
  enter: () => void;
}

/** The limit may change; running work finishes. */
export function createSemaphore(
  maxParallel: number | (() => number),
  options: SemaphoreOptions = {},
): Semaphore {
  const { maxWaiting = Number.POSITIVE_INFINITY, refusal, maxWait, fair = false } = options;
  const limit = typeof maxParallel === 'number' ? () => maxParallel : maxParallel;
  const queues = new Map<string, Waiter[]>();
  const held = new Map<string, number>();
  let waiting = 0;
  let active = 0;

  const heldBy = (holder: string) => held.get(holder) ?? 0;
  const mayEnter = (holder: string) => limit() - active > (fair && heldBy(holder) > 0 ? 1 : 0);

  function enter(holder: string): void {
    active++;
    held.set(holder, heldBy(holder) + 1);
  }

  function exit(holder: string): void {
    active--;
    if (heldBy(holder) > 1) held.set(holder, heldBy(holder) - 1);
    else held.delete(holder);
  }

  function wait(holder: string): Promise<void> {
    if (refusal && waiting >= maxWaiting) return Promise.reject(refusal());
    return new Promise((resolve, reject) => {
      let cancelTimeout = () => {};
      const waiter = {
        enter: () => {
          cancelTimeout();
          resolve();
        },
      };
      const queue = queues.get(holder);
      if (queue) queue.push(waiter);
      else queues.set(holder, [waiter]);
      waiting++;
      if (!refusal || !maxWait) return;
      cancelTimeout = startTimer(maxWait.ports, maxWait.ms, () => {
        if (leave(holder, waiter)) reject(refusal());
      });
    });
  }

  function leave(holder: string, waiter: Waiter): boolean {
    const queue = queues.get(holder);
    const at = queue?.indexOf(waiter) ?? -1;
    if (!queue || at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) queues.delete(holder);
    waiting--;
    return true;
  }

  function admit(): void {
    for (const [holder, queue] of queues) {
      if (active >= limit()) return;
      if (!mayEnter(holder)) continue;
      // Moves the holder to the end.
      queues.delete(holder);
      const waiter = queue.shift();
      if (queue.length > 0) queues.set(holder, queue);
      waiting--;
      enter(holder);
      waiter?.enter();
    }
  }

  return {
    isFull: () => active >= limit(),
    async run(work, holder = '') {
      if (!queues.has(holder) && mayEnter(holder)) enter(holder);
      else await wait(holder);
      try {
        return await work();
      } finally {
        exit(holder);
        admit();
      }
    },
  };
}

/** For external work. Pools of five or more leave one for runs. */
export const sharesOfPool = (poolSize: number) => ({
  api: Math.max(1, Math.floor((poolSize * 2) / 5)),
  // Few: waiting deliveries share statements.
  deliveries: Math.max(1, Math.floor(poolSize / 5)),
  renewals: Math.max(1, Math.floor(poolSize / 3)),
});
