/** Long work on many items is done in slices: between two of them timers and sockets have a turn, so that leases are renewed. */
const itemsPerSlice = 1000;

export async function inSlices<T>(
  items: readonly T[],
  work: (item: T, i: number) => void,
  count = items.length,
): Promise<void> {
  for (let i = 0; i < count; i++) {
    if (i > 0 && i % itemsPerSlice === 0) await turn();
    work(items[i] as T, i);
  }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
