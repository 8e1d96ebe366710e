export interface BackoffPolicy {
  baseSeconds: number;
  maxSeconds: number;
  jitterFactor: number;
}

/** A week. A provider that asks for more is asked again after it; a mistaken hint must not park a connection for years. */
const maxHintSeconds = 7 * 24 * 3600;

/**
 * EXE-7: how long to wait before the next try, after `attempts` earlier failures. Doubles up to the policy's longest pause;
 * a provider that asks for more gets it.
 */
export function backoffSeconds(
  policy: BackoffPolicy,
  attempts: number,
  hintSeconds: number | undefined,
  random: number,
): number {
  // At some hundred failures this is Infinity, which the minimum takes care of.
  const exponential = Math.min(policy.baseSeconds * 2 ** Math.max(0, attempts), policy.maxSeconds);
  const effective = Math.max(exponential, believable(hintSeconds));
  return jittered(effective, policy, random);
}

/** EXE-7: how long the next page waits after one that succeeded. Nothing has failed, so only what the provider asked for counts. */
export function pageSeconds(policy: BackoffPolicy, hintSeconds: number | undefined, random: number): number {
  return jittered(believable(hintSeconds), policy, random);
}

/** A second at least: a job that may come back at once would go round and round. */
export function parkedSeconds(hintSeconds: number | undefined): number {
  return Math.max(1, believable(hintSeconds));
}

/** The longest wait that any of the functions above can return. */
export function maxPauseSeconds({ maxSeconds, jitterFactor }: BackoffPolicy): number {
  return Math.max(maxSeconds, maxHintSeconds) * (1 + jitterFactor);
}

function jittered(seconds: number, { jitterFactor }: BackoffPolicy, random: number): number {
  return seconds + random * jitterFactor * seconds;
}

function believable(hintSeconds: number | undefined): number {
  if (typeof hintSeconds !== 'number' || !(hintSeconds > 0)) return 0;
  return Math.min(hintSeconds, maxHintSeconds);
}
