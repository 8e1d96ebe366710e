export interface IntervalBounds {
  defaultIntervalSeconds: number;
  maxOverriddenIntervalSeconds: number;
}

/** The scheduler looks one tick ahead. */
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
