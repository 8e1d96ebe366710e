/** Between slices, timers and sockets (lease heartbeats) run. */
const itemsPerSlice = 1000;

export async function inSlices<T>(
  items: readonly T[],
  work: (item: T, i: number) => void,
  count = items.length,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (i > 0 && i % itemsPerSlice === 0) await yieldToLoop();
    work(items[i] as T, i);
  }
}

/** Resolves after the callbacks of the current event loop turn. */
export const yieldToLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
