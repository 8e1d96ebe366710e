/** Collects work, so that many callers share a statement or a transaction. */
export interface Batches<Item, Result> {
  /** Resolves with the result of this item once its batch is done. */
  add(item: Item): Promise<Result>;
  /** Nothing waits and nothing is under way. */
  isIdle(): boolean;
}

export interface BatchOptions<Item, Result> {
  /** Returns the result of each item, in their order. */
  run: (items: Item[]) => Promise<Result[]>;
  maxItems: number;
  /** How much of `maxSize` an item takes. A single item may be larger. */
  sizeOf?: (item: Item) => number;
  maxSize?: number;
  /** Whether one item may be the reason for a failure: then the batch is split until that one stands alone. */
  isOfOneItem?: (error: unknown) => boolean;
  maxWaiting: number;
  /** The error of an item that finds the line full. */
  refusal: () => Error;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** One batch is under way at a time; all that is added meanwhile goes into the next one, in the order of arrival. */
export function createBatches<Item, Result>(options: BatchOptions<Item, Result>): Batches<Item, Result> {
  const { run, maxItems, sizeOf = () => 0, maxSize = 0, isOfOneItem = () => false } = options;
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
    // What arrives in the same turn of the event loop is done together.
    await new Promise((resolve) => setImmediate(resolve));
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
      if (batch.length === 1 || !isOfOneItem(error)) {
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
