/** The jitter of a run, as fractions of its base interval. */
export interface JitterBounds {
  jitterPctMin: number;
  jitterPctMax: number;
}

/** The whole seconds that jitter may take, both ends included. */
export interface JitterRange {
  least: number;
  most: number;
}

/**
 * SCH-4: the whole seconds within `[min·base, max·base]`. Where no whole second lies within, the one just below: a run
 * may come a moment too early, never later than the operator allows.
 */
export function jitterRange(baseSeconds: number, { jitterPctMin, jitterPctMax }: JitterBounds): JitterRange {
  const most = Math.floor(exactProduct(jitterPctMax, baseSeconds));
  return { least: Math.min(Math.ceil(exactProduct(jitterPctMin, baseSeconds)), most), most };
}

/** Uniform over the range. `random` is in `[0, 1)`. */
export function sampleJitter({ least, most }: JitterRange, random: number): number {
  return least + Math.floor(random * (most - least + 1));
}

/** 0.07 · 100 is 7.000000000000001 in floating point, which would round up to 8: a billionth decides nothing here. */
function exactProduct(fraction: number, seconds: number): number {
  return Math.round(fraction * seconds * 1e9) / 1e9;
}
