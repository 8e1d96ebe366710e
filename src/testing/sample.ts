/** Numbers in [0, 1) that are the same for the same seed, so that what a sample found can be found again. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** So many of these, in their order; all where there are no more. */
export function sampleOf<T>(all: readonly T[], most: number, random: () => number): T[] {
  if (all.length <= most) return [...all];
  let wanted = most;
  return all.filter((_, i) => {
    const isTaken = random() < wanted / (all.length - i);
    if (isTaken) wanted--;
    return isTaken;
  });
}
