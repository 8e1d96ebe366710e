/** Seeded random choices. */
export interface Chance {
  /** True with this probability in percent. */
  percent(probability: number): boolean;
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
    percent: (probability) => next() * 100 < probability,
    below,
    pick: (choices) => {
      if (choices.length === 0) throw new Error('pick() needs at least one choice');
      return choices[below(choices.length)] as (typeof choices)[number];
    },
  };
}
