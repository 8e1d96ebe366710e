export interface BackoffPolicy {
  baseSeconds: number;
  maxSeconds: number;
  jitterFactor: number;
}

/** A week. A provider that asks for more is asked again after it; a mistaken hint must not park a connection for years. */
const longestHintSeconds = 7 * 24 * 3600;

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
  return effective + random * policy.jitterFactor * effective;
}

/** A second at least: a job that may come back at once would go round and round. */
export function parkedSeconds(hintSeconds: number | undefined): number {
  return Math.max(1, believable(hintSeconds));
}

function believable(hintSeconds: number | undefined): number {
  if (typeof hintSeconds !== 'number' || !(hintSeconds > 0)) return 0;
  return Math.min(hintSeconds, longestHintSeconds);
}
