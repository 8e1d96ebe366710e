/** Between slices, timers and sockets run (heartbeats). */
const itemsPerSlice = 1000;

export async function inSlices<T>(
  items: readonly T[],
  work: (item: T, i: number) => undefined | Promise<void>,
  count = items.length,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (i > 0 && i % itemsPerSlice === 0) await yieldToLoop();
    const pending = work(items[i] as T, i);
    if (pending) await pending;
  }
}

/** After the current event loop turn. */
export const yieldToLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
