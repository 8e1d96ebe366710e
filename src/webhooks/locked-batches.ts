import { type Batches, createBatches } from '../platform/batches.ts';
import { createSemaphore, type Semaphore } from '../platform/semaphore.ts';
import { yieldToLoop } from '../platform/slices.ts';
import { isPermanent, isTransient } from '../store/database-errors.ts';

/** The connection is locked. */
export const held = Symbol('held');

export type Locking = 'skip' | 'wait';

export interface LockedBatchOptions<Item, Result> {
  /** In item order; with `skip`, `held` for locked connections. */
  write: (items: Item[], locking: Locking) => Promise<(Result | typeof held)[]>;
  sizeOf?: (item: Item) => number;
  gate: Semaphore;
  maxHeld: number;
  maxWaiting: number;
  refusal: () => Error;
}

/** Amortises the commit, bounds lock time. */
const maxItems = 200;
const maxSize = 16 * 1024 * 1024;

/** One transaction at a time. Items of each locked connection wait, in order, in their own. */
export function createLockedBatches<Item extends { connectionId: string }, Result>(
  options: LockedBatchOptions<Item, Result>,
): (item: Item) => Promise<Result> {
  const { write, gate, sizeOf, maxHeld, maxWaiting, refusal } = options;
  const waitingForLocks = createSemaphore(maxHeld);
  const common = {
    maxItems,
    maxSize,
    maxWaiting,
    refusal,
    ...(sizeOf && { sizeOf }),
    isItemError: (error: unknown) => !isTransient(error) && !isPermanent(error),
  };
  const together = createBatches<Item, Result | typeof held>({
    ...common,
    run: (items) => gate.run(() => write(items, 'skip')),
  });
  const alone = new Map<string, Batches<Item, Result | typeof held>>();

  function aloneFor(connectionId: string): Batches<Item, Result | typeof held> {
    const existing = alone.get(connectionId);
    if (existing) return existing;
    const created = createBatches<Item, Result | typeof held>({
      ...common,
      run: (items) => waitingForLocks.run(() => gate.run(() => write(items, 'wait'))),
    });
    alone.set(connectionId, created);
    return created;
  }

  async function addAlone(item: Item): Promise<Result> {
    const own = aloneFor(item.connectionId);
    try {
      return (await own.add(item)) as Result;
    } finally {
      void yieldToLoop().then(() => {
        if (own.isIdle() && alone.get(item.connectionId) === own) alone.delete(item.connectionId);
      });
    }
  }

  return async (item) => {
    if (alone.has(item.connectionId)) return addAlone(item);
    const result = await together.add(item);
    return result === held ? addAlone(item) : result;
  };
}
