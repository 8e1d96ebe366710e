import { type Batches, createBatches } from '../platform/batches.ts';
import { createSemaphore, type Semaphore } from '../platform/semaphore.ts';
import { isPassing, isPermanent } from '../store/database-errors.ts';

/** What a write leaves undone because another transaction holds the connection. */
export const held = Symbol('held');

/** Whether connections that another transaction holds are passed over, or waited for. */
export type Locking = 'skip' | 'wait';

export interface LockedBatchOptions<Item, Result> {
  /** One transaction. The result of each item, in their order; with `skip`, `held` where its connection could not be locked. */
  write: (items: Item[], locking: Locking) => Promise<(Result | typeof held)[]>;
  sizeOf?: (item: Item) => number;
  gate: Semaphore;
  /** How many transactions may wait for a held connection each. */
  maxHeld: number;
  maxWaiting: number;
  refusal: () => Error;
}

/** Items per transaction: enough that a commit costs little per item, few enough that locks are short. */
const maxItems = 200;
const maxSize = 16 * 1024 * 1024;

/**
 * Writes items of many connections in one transaction at a time. Items of a connection that another transaction holds go into
 * transactions of their own, one per connection at a time, which wait for it; so do those that arrive meanwhile, in order.
 */
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
    isOfOneItem: (error: unknown) => !isPassing(error) && !isPermanent(error),
  };
  const together = createBatches<Item, Result | typeof held>({
    ...common,
    run: (items) => gate.run(() => write(items, 'skip')),
  });
  /** By connection; only those that are held. */
  const alone = new Map<string, Batches<Item, Result | typeof held>>();

  function aloneFor(connectionId: string): Batches<Item, Result | typeof held> {
    const known = alone.get(connectionId);
    if (known) return known;
    const made = createBatches<Item, Result | typeof held>({
      ...common,
      run: (items) => waitingForLocks.run(() => gate.run(() => write(items, 'wait'))),
    });
    alone.set(connectionId, made);
    return made;
  }

  async function addAlone(item: Item): Promise<Result> {
    const own = aloneFor(item.connectionId);
    try {
      return (await own.add(item)) as Result;
    } finally {
      setImmediate(() => {
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
