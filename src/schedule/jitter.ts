/** As fractions of the interval. */
export interface JitterBounds {
  jitterPctMin: number;
  jitterPctMax: number;
}

/** Whole seconds, inclusive. */
export interface JitterRange {
  minSeconds: number;
  maxSeconds: number;
}

/** SCH-4. If no whole second fits, the one below: never above the maximum. */
export function jitterRange(baseSeconds: number, { jitterPctMin, jitterPctMax }: JitterBounds): JitterRange {
  const maxSeconds = Math.floor(exactProduct(jitterPctMax, baseSeconds));
  const minSeconds = Math.min(Math.ceil(exactProduct(jitterPctMin, baseSeconds)), maxSeconds);
  return { minSeconds, maxSeconds };
}

/**
 * SCH-12: a share of the distance or of a shorter default interval: a daily run is expected near its time.
 * Below the distance, so runs keep their order.
 */
export function scheduleJitterRange(
  distanceSeconds: number,
  bounds: JitterBounds & { defaultIntervalSeconds: number },
): JitterRange {
  const range = jitterRange(Math.min(distanceSeconds, bounds.defaultIntervalSeconds), bounds);
  const maxSeconds = Math.max(0, Math.min(range.maxSeconds, distanceSeconds - 1));
  return { minSeconds: Math.min(range.minSeconds, maxSeconds), maxSeconds };
}

/** `random` is in `[0, 1)`. */
export function sampleJitter({ minSeconds, maxSeconds }: JitterRange, random: number): number {
  return minSeconds + Math.floor(random * (maxSeconds - minSeconds + 1));
}

/** 0.07 · 100 is 7.000000000000001, which would round up to 8. */
function exactProduct(fraction: number, seconds: number): number {
  return Math.round(fraction * seconds * 1e9) / 1e9;
}
