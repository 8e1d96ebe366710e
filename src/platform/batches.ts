import { yieldToLoop } from './slices.ts';

/** Batches concurrent calls into statements or transactions. */
export interface Batches<Item, Result> {
  add(item: Item): Promise<Result>;
  isIdle(): boolean;
}

export interface BatchOptions<Item, Result> {
  /** One result per item, in order. */
  run: (items: Item[]) => Promise<Result[]>;
  maxItems: number;
  /** In units of `maxSize`, which one item may exceed. */
  sizeOf?: (item: Item) => number;
  maxSize?: number;
  /** One item may be the cause: bisect. */
  isItemError?: (error: unknown) => boolean;
  maxWaiting: number;
  refusal: () => Error;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** One at a time; later items form the next, in order. */
export function createBatches<Item, Result>(options: BatchOptions<Item, Result>): Batches<Item, Result> {
  const { run, maxItems, sizeOf = () => 0, maxSize = 0, isItemError = () => false } = options;
  const queue: Waiting<Item, Result>[] = [];
  let isRunning = false;

  function next(): Waiting<Item, Result>[] {
    let size = 0;
    let count = 0;
    for (const { item } of queue) {
      size += sizeOf(item);
      if (count > 0 && (size > maxSize || count === maxItems)) break;
      count++;
    }
    return queue.splice(0, count);
  }

  async function runAll(): Promise<void> {
    isRunning = true;
    // Items of one event loop turn.
    await yieldToLoop();
    while (queue.length > 0) await settle(next());
    isRunning = false;
  }

  async function settle(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, i) => {
        resolve(results[i] as Result);
      });
    } catch (error) {
      if (batch.length === 1 || !isItemError(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await settle(batch.slice(0, half));
      await settle(batch.slice(half));
    }
  }

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        if (queue.length >= options.maxWaiting) return reject(options.refusal());
        queue.push({ item, resolve, reject });
        if (!isRunning) void runAll();
      }),
    isIdle: () => !isRunning,
  };
}
