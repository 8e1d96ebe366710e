/** Larger numbers are epochs: both thresholds mean September 2001. */
const firstEpochSeconds = 1_000_000_000;
const firstEpochMs = 1_000_000_000_000;

/** Seconds, epochs in seconds or milliseconds, ISO-8601 or HTTP dates. */
export function secondsUntil(value: string | null, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (text === '') return undefined;
  const number = /^[+-]?infinity$/i.test(text) ? Number.NaN : Number(text);
  if (Number.isNaN(number)) {
    const at = timeOf(text);
    return Number.isNaN(at) ? undefined : Math.max(0, (at - nowMs) / 1000);
  }
  if (number < 0) return undefined;
  if (number >= firstEpochMs) return Math.max(0, (number - nowMs) / 1000);
  if (number >= firstEpochSeconds) return Math.max(0, number - nowMs / 1000);
  return number;
}

const day = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const month = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = String.raw`\d\d:\d\d(?::\d\d(?:\.\d+)?)?`;
const zone = String.raw` ?(?:Z|UTC?|GMT|[+-]\d\d:?\d\d)`;
const isoTime = new RegExp(String.raw`^(\d{4}-\d\d-\d\d)(?:[T ](${time}))?(${zone})?$`, 'i');
/** IMF-fixdate and RFC 850. */
const zonedDate = new RegExp(
  String.raw`^(?:${day}[a-z]*, ?)?\d{1,2}[ -]${month}[ -]\d{2,4} ${time}${zone}$`,
  'i',
);
const asctime = new RegExp(String.raw`^${day} ${month} [ \d]\d ${time} \d{4}$`, 'i');

/** `Date.parse` also reads text such as "limit 2030", and times without a zone as local instead of GMT. */
function timeOf(text: string): number {
  const [, date, at = '00:00', offset = 'Z'] = isoTime.exec(text) ?? [];
  if (date !== undefined) return Date.parse(`${date} ${at}${offset}`);
  if (zonedDate.test(text)) return Date.parse(text);
  return asctime.test(text) ? Date.parse(`${text} GMT`) : Number.NaN;
}

/** Seconds, or a Retry-After header. */
export type Wait = number | string | null | undefined;

/** EXE-7. */
export function hintSeconds(wait: Wait, nowMs: number): number | undefined {
  return typeof wait === 'string' ? secondsUntil(wait, nowMs) : (wait ?? undefined);
}

/** Empty text is an absent header. */
export function unreadableHint(wait: Wait, redact: (text: string) => string): string | undefined {
  if (typeof wait !== 'string' || wait.trim() === '' || secondsUntil(wait, 0) !== undefined) return undefined;
  const expected = 'a number of seconds or an HTTP date';
  return `retryAfterSeconds must be ${expected}, got "${shown(wait, redact)}"; it is ignored`;
}

/** Redacts before it truncates: a part of a secret would not be recognised. */
const shown = (text: string, redact: (text: string) => string) => redact(text.slice(0, 2000)).slice(0, 200);
