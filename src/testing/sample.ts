/** In [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function sampleOf<T>(all: readonly T[], max: number, random: () => number): T[] {
  if (all.length <= max) return [...all];
  let remaining = max;
  return all.filter((_, i) => {
    const isTaken = random() < remaining / (all.length - i);
    if (isTaken) remaining--;
    return isTaken;
  });
}
