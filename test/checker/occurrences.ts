import { CronExpressionParser } from 'cron-parser';
import { asObject } from './rows.ts';

/** SCH-12, found minute by minute: shares neither the parser nor the search of the engine. */
export interface Occurrences {
  /** The latest in `[fromMs, toMs]`. */
  latest(fromMs: number, toMs: number): number | undefined;
  after(ms: number): number;
}

const minuteMs = 60_000;
/** No time zone sets its clock back further. */
const maxSetBackMinutes = 120;
const maxDistanceMinutes = 8 * 24 * 60;

const known = new Map<string, Occurrences>();

/** Of `connections.schedule`; undefined without a valid one. */
export function occurrencesOf(schedule: unknown): Occurrences | undefined {
  const { cron, times_of_day: times, days_of_week: days, time_zone: zone = 'UTC' } = asObject(schedule) ?? {};
  if (typeof zone !== 'string' || (!isCron(cron) && !Array.isArray(times))) return undefined;
  const key = JSON.stringify(schedule);
  const found = known.get(key) ?? search(matcherOf(cron, times, days), wallClockOf(zone));
  known.set(key, found);
  return found;
}

function isCron(cron: unknown): cron is string {
  try {
    return typeof cron === 'string' && CronExpressionParser.parse(cron) !== undefined;
  } catch {
    return false;
  }
}

type Matcher = (wallMs: number) => boolean;

function matcherOf(cron: unknown, times: unknown, days: unknown): Matcher {
  if (typeof cron === 'string') {
    const expression = CronExpressionParser.parse(cron, { tz: 'UTC' });
    return remembered((wallMs) => expression.includesDate(new Date(wallMs)));
  }
  const day = (wallMs: number) =>
    new Date(wallMs).toLocaleDateString('en', { weekday: 'short', timeZone: 'UTC' }).toLowerCase();
  return (wallMs) =>
    (times as string[]).includes(new Date(wallMs).toISOString().slice(11, 16)) &&
    (!Array.isArray(days) || days.includes(day(wallMs)));
}

/** The local date and time, as if it were UTC. */
function wallClockOf(timeZone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return remembered((ms) => Date.parse(`${format.format(ms).replace(' ', 'T')}Z`));
}

function remembered<T>(work: (ms: number) => T): (ms: number) => T {
  const values = new Map<number, T>();
  return (ms) => {
    const value = values.get(ms) ?? work(ms);
    values.set(ms, value);
    return value;
  };
}

function search(matches: Matcher, wallAt: (ms: number) => number): Occurrences {
  /** The local clock shows a matching time, or skips it, for the first time. */
  const isOccurrence = remembered((ms: number) => {
    const earlier = Array.from({ length: maxSetBackMinutes }, (_, i) => wallAt(ms - (i + 1) * minuteMs));
    for (let wallMs = Math.max(...earlier) + minuteMs; wallMs <= wallAt(ms); wallMs += minuteMs)
      if (matches(wallMs)) return true;
    return false;
  });
  return {
    latest(fromMs, toMs) {
      for (let ms = Math.floor(toMs / minuteMs) * minuteMs; ms >= fromMs; ms -= minuteMs)
        if (isOccurrence(ms)) return ms;
      return undefined;
    },
    after(afterMs) {
      const firstMs = (Math.floor(afterMs / minuteMs) + 1) * minuteMs;
      for (let i = 0; i < maxDistanceMinutes; i++)
        if (isOccurrence(firstMs + i * minuteMs)) return firstMs + i * minuteMs;
      return Number.NaN;
    },
  };
}
