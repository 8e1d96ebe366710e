/** What the operator allows: the interval of connections that set none, and the longest that one may set. */
export interface IntervalBounds {
  defaultIntervalSeconds: number;
  maxOverriddenIntervalSeconds: number;
}

/** The shortest interval a connection may have: below it, a scheduler's look-ahead of one tick is longer than the interval. */
export const minIntervalSeconds = 60;

export function isAllowedInterval(seconds: unknown, bounds: IntervalBounds): seconds is number {
  return (
    Number.isInteger(seconds) &&
    (seconds as number) >= minIntervalSeconds &&
    (seconds as number) <= bounds.maxOverriddenIntervalSeconds
  );
}

/** SCH-3: the connection's own interval where it is allowed, else the default. */
export function baseInterval(override: unknown, bounds: IntervalBounds): number {
  return isAllowedInterval(override, bounds) ? override : bounds.defaultIntervalSeconds;
}
