export interface BackoffPolicy {
  baseSeconds: number;
  maxSeconds: number;
  jitterFactor: number;
}

/** A wrong hint must not stop a connection for years. */
const maxHintSeconds = 7 * 24 * 3600;

/** EXE-7. */
export function backoffSeconds(
  policy: BackoffPolicy,
  attempts: number,
  hintSeconds: number | undefined,
  random: number,
): number {
  // 2 ** attempts may be Infinity.
  const exponential = Math.min(policy.baseSeconds * 2 ** Math.max(0, attempts), policy.maxSeconds);
  const effective = Math.max(exponential, clampHint(hintSeconds));
  return withBackoffJitter(effective, policy, random);
}

/** EXE-7: between pages. */
export function pageSeconds(policy: BackoffPolicy, hintSeconds: number | undefined, random: number): number {
  return withBackoffJitter(clampHint(hintSeconds), policy, random);
}

/** Zero would make a parked job loop. */
export function parkedSeconds(hintSeconds: number | undefined): number {
  return Math.max(1, clampHint(hintSeconds));
}

export function maxPauseSeconds({ maxSeconds, jitterFactor }: BackoffPolicy): number {
  return Math.max(maxSeconds, maxHintSeconds) * (1 + jitterFactor);
}

function withBackoffJitter(seconds: number, { jitterFactor }: BackoffPolicy, random: number): number {
  return seconds + random * jitterFactor * seconds;
}

function clampHint(hintSeconds: number | undefined): number {
  if (typeof hintSeconds !== 'number' || !(hintSeconds > 0)) return 0;
  return Math.min(hintSeconds, maxHintSeconds);
}
