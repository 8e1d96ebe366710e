export interface IntervalBounds {
  defaultIntervalSeconds: number;
  maxOverriddenIntervalSeconds: number;
}

/** Not less than the scheduler's look-ahead of one tick. */
export const minIntervalSeconds = 60;

export function isAllowedInterval(seconds: unknown, bounds: IntervalBounds): seconds is number {
  return (
    Number.isInteger(seconds) &&
    (seconds as number) >= minIntervalSeconds &&
    (seconds as number) <= bounds.maxOverriddenIntervalSeconds
  );
}

/** SCH-3. */
export function baseInterval(override: unknown, bounds: IntervalBounds): number {
  return isAllowedInterval(override, bounds) ? override : bounds.defaultIntervalSeconds;
}
