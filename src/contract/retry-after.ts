/** Later than this, a number is a time rather than a duration: in seconds since 1970 the year 2001, in milliseconds too. */
const firstEpochSeconds = 1_000_000_000;
const firstEpochMs = 1_000_000_000_000;

/** Seconds from now: given as such, as an epoch in seconds or milliseconds, as ISO-8601 or as an HTTP date. */
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

/** How long to wait, as a connector may give it: a number of seconds, or the text of a Retry-After header. */
export type Wait = number | string | null | undefined;

/** EXE-7: a wait in seconds; undefined where none is given, or the text cannot be read. */
export function waitSeconds(wait: Wait, nowMs: number): number | undefined {
  return typeof wait === 'string' ? secondsUntil(wait, nowMs) : (wait ?? undefined);
}
