import type { Ports } from './ports.ts';

/** Bounds how much work runs in parallel. What waits enters round-robin by holder, and in the order of arrival within one. */
export interface Semaphore {
  isFull(): boolean;
  run<T>(work: () => Promise<T>, holder?: string): Promise<T>;
}

export interface SemaphoreOptions {
  /** How many may wait; no limit unless given. */
  maxWaiting?: number;
  /** The error of work that finds the line full, or has waited for `maxWait`. */
  refusal?: () => Error;
  maxWait?: { ms: number; ports: Pick<Ports, 'sleep'> };
  /** A holder that has a place does not get the last free one, so that another finds it however long the work takes. */
  fair?: boolean;
}

interface Waiter {
  enter: () => void;
}

/** `most` may change while work is inside: what is above it leaves by itself. */
export function createSemaphore(most: number | (() => number), options: SemaphoreOptions = {}): Semaphore {
  const { maxWaiting = Number.POSITIVE_INFINITY, refusal, maxWait, fair = false } = options;
  const limit = typeof most === 'number' ? () => most : most;
  const lines = new Map<string, Waiter[]>();
  const held = new Map<string, number>();
  let waiting = 0;
  let inside = 0;

  const ownOf = (holder: string) => held.get(holder) ?? 0;
  const mayEnter = (holder: string) => limit() - inside > (fair && ownOf(holder) > 0 ? 1 : 0);

  function enter(holder: string): void {
    inside++;
    held.set(holder, ownOf(holder) + 1);
  }

  function exit(holder: string): void {
    inside--;
    if (ownOf(holder) > 1) held.set(holder, ownOf(holder) - 1);
    else held.delete(holder);
  }

  function wait(holder: string): Promise<void> {
    if (refusal && waiting >= maxWaiting) return Promise.reject(refusal());
    return new Promise((resolve, reject) => {
      const entered = new AbortController();
      const waiter = {
        enter: () => {
          entered.abort();
          resolve();
        },
      };
      const line = lines.get(holder);
      if (line) line.push(waiter);
      else lines.set(holder, [waiter]);
      waiting++;
      if (!refusal || !maxWait) return;
      void maxWait.ports.sleep(maxWait.ms, entered.signal).then(() => {
        if (!entered.signal.aborted && leave(holder, waiter)) reject(refusal());
      });
    });
  }

  function leave(holder: string, waiter: Waiter): boolean {
    const line = lines.get(holder);
    const at = line?.indexOf(waiter) ?? -1;
    if (!line || at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) lines.delete(holder);
    waiting--;
    return true;
  }

  /** Admits what may enter, one of each holder in turn. */
  function admit(): void {
    for (const [holder, line] of lines) {
      if (inside >= limit()) return;
      if (!mayEnter(holder)) continue;
      // Its next turn comes after all others': a key that is set anew is visited last.
      lines.delete(holder);
      const waiter = line.shift();
      if (line.length > 0) lines.set(holder, line);
      waiting--;
      enter(holder);
      waiter?.enter();
    }
  }

  return {
    isFull: () => inside >= limit(),
    async run(work, holder = '') {
      if (!lines.has(holder) && mayEnter(holder)) enter(holder);
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

/**
 * How many of a process's database connections one kind of work may hold that callers could drive up at will. API requests,
 * deliveries, and renewals while a provider takes its time: together they leave one for runs, from a pool of five on.
 */
export const sharesOfPool = (poolSize: number) => ({
  api: Math.max(1, Math.floor((poolSize * 2) / 5)),
  // Few, because deliveries that wait share their statements.
  deliveries: Math.max(1, Math.floor(poolSize / 5)),
  renewals: Math.max(1, Math.floor(poolSize / 3)),
});
