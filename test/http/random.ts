/** Chance that can be repeated: the same seed, the same choices. */
export interface Chance {
  /** True so many times of a hundred. */
  percent(often: number): boolean;
  below(limit: number): number;
  pick<T>(choices: readonly T[]): T;
}

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    percent: (often) => next() * 100 < often,
    below,
    pick: (choices) => {
      if (choices.length === 0) throw new Error('there is nothing to choose from');
      return choices[below(choices.length)] as (typeof choices)[number];
    },
  };
}
