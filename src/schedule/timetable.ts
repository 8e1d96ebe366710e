import { LRUCache } from 'lru-cache';
import { isObject } from '../values/is-object.ts';
import { type Calendar, calendarOf } from './calendar.ts';
import { parseSchedule } from './parse-schedule.ts';
import type { Schedule } from './schedule.ts';
import { type InvalidField, invalidField } from './sync-metadata.ts';
import { type TimeZone, timeZone } from './time-zone.ts';

/** Occurrences around an instant: `latestMs` <= instant < `nextMs` < `afterNextMs`. */
interface Occurrences {
  latestMs: number;
  nextMs: number;
  afterNextMs: number;
}

export interface Timetable {
  schedule: Schedule;
  around(ms: number): Occurrences;
}

/** Calendars that end: after any run. */
const endMs = Date.UTC(9999, 11, 30);

export function timetableOf(schedule: Schedule): Timetable {
  const zone = timeZone(schedule.timeZone) as TimeZone;
  let known: Occurrences | undefined;
  return {
    schedule,
    around(ms) {
      // Calls between two occurrences share one search.
      if (known && known.latestMs <= ms && ms < known.nextMs) return known;
      known = search(calendarOf(schedule), zone, ms);
      return known;
    },
  };
}

/** Cost is independent of the time since the last run. */
function search(calendar: Calendar, zone: TimeZone, ms: number): Occurrences {
  const latest = calendar.atOrBefore(zone.wallAt(ms));
  const nextMs = nextAfter(calendar, zone, ms);
  return {
    latestMs: latest === undefined ? Number.NEGATIVE_INFINITY : zone.instantOf(latest),
    nextMs,
    afterNextMs: nextAfter(calendar, zone, nextMs),
  };
}

function nextAfter(calendar: Calendar, zone: TimeZone, ms: number): number {
  const wallMs = calendar.after(zone.wallAt(ms));
  return wallMs === undefined ? endMs : zone.instantOf(wallMs);
}

type Read = { timetable?: Timetable; invalid?: InvalidField };

/** Parses each text once, even if invalid. */
const reads = new LRUCache<string, Read>({ max: 5000 });

/** DB-3: never throws. `text` is truncated JSON. */
export function readTimetable(text: string | null): Read {
  if (text === null || text === 'null') return {};
  const known = reads.get(text);
  if (known) return known;
  const read = parseColumn(text);
  reads.set(text, read);
  return read;
}

function parseColumn(text: string): Read {
  const value = jsonValue(text);
  const { schedule, problem } = parseSchedule(camelCased(value));
  if (schedule) return { timetable: timetableOf(schedule) };
  const { field, expected } = problem;
  const where = field === 'schedule' ? '' : `${field.replace('schedule.', '')} as `;
  return { invalid: invalidField('schedule', value, `${where}${expected}`) };
}

/** Truncated JSON stays text. */
function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const names: Readonly<Record<string, string>> = {
  times_of_day: 'timesOfDay',
  days_of_week: 'daysOfWeek',
  time_zone: 'timeZone',
};

function camelCased(value: unknown): unknown {
  if (!isObject(value)) return value;
  // Many writers use null for "not set".
  const set = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(set.map(([key, field]) => [names[key] ?? key, field]));
}
