/** Larger numbers are epochs: both thresholds mean September 2001. */
const firstEpochSeconds = 1_000_000_000;
const firstEpochMs = 1_000_000_000_000;

/** Seconds, epochs in seconds or milliseconds, ISO-8601 or HTTP dates. */
export function secondsUntil(value: string | null, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (text === '') return undefined;
  const number = Number(text);
  if (Number.isNaN(number)) {
    const at = Date.parse(text);
    return Number.isNaN(at) ? undefined : Math.max(0, (at - nowMs) / 1000);
  }
  if (number < 0) return undefined;
  if (number >= firstEpochMs) return Math.max(0, (number - nowMs) / 1000);
  if (number >= firstEpochSeconds) return Math.max(0, number - nowMs / 1000);
  return number;
}

/** Seconds, or a Retry-After header. */
export type Wait = number | string | null | undefined;

/** EXE-7. */
export function hintSeconds(wait: Wait, nowMs: number): number | undefined {
  return typeof wait === 'string' ? secondsUntil(wait, nowMs) : (wait ?? undefined);
}
