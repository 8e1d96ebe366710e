import { show } from '../values/arguments.ts';
import { isObject } from '../values/is-object.ts';
import { nearest } from '../values/suggest.ts';
import { calendarOf } from './calendar.ts';
import { type Schedule, scheduleLimits, type Weekday, weekdays } from './schedule.ts';
import { knownTimeZones, timeZone } from './time-zone.ts';

/** The part of a schedule that is invalid. */
export interface ScheduleProblem {
  field: string;
  /** Completes "must be …". */
  expected: string;
  value: string;
  hint: string | undefined;
}

/** The normalized schedule, or why it is invalid. */
export type ParsedSchedule =
  | { schedule: Schedule; problem?: undefined }
  | { schedule?: undefined; problem: ScheduleProblem };

/** Snake case in the column and HTTP API. */
const fields = ['cron', 'timesOfDay', 'daysOfWeek', 'timeZone'] as const;
const expectedShape =
  'an object with cron or timesOfDay, such as { cron: "0 6 * * *", timeZone: "Europe/Berlin" }';

/** Checks a `ScheduleInput` and normalizes it. Never throws. */
export function parseSchedule(value: unknown): ParsedSchedule {
  if (!isObject(value)) return refuse('schedule', expectedShape, shown(value));
  const unknown = Object.keys(value).find((key) => !fields.some((field) => field === key));
  if (unknown !== undefined)
    return refuse('schedule', `an object with only ${fields.join(', ')}`, show(unknown));
  const { cron, timesOfDay, daysOfWeek, timeZone: zoneName = 'UTC' } = value;
  if (typeof zoneName !== 'string' || !timeZone(zoneName)) return refuseTimeZone(zoneName);
  const zone = { timeZone: zoneName };
  if (cron === undefined) return parseTimes(timesOfDay, daysOfWeek, zone);
  if (timesOfDay !== undefined) return refuse('schedule', 'either cron or timesOfDay', 'both');
  if (daysOfWeek !== undefined)
    return refuse(
      'schedule.daysOfWeek',
      'absent beside cron, whose last field sets the days',
      shown(daysOfWeek),
    );
  return parseCron(cron, zone);
}

const nicknames: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

const cronExpected = 'a cron expression of five fields (minute, hour, day, month, weekday)';

function parseCron(value: unknown, zone: { timeZone: string }): ParsedSchedule {
  const refuseCron = (hint: string, expected = cronExpected) =>
    refuse('schedule.cron', expected, shown(value), hint);
  const example = 'Example: "0 6 * * 1-5", weekdays at 06:00.';
  if (typeof value !== 'string' || value.length > scheduleLimits.cronLength)
    return refuseCron(example, `${cronExpected}, at most ${scheduleLimits.cronLength} characters`);
  const parts = value.trim().split(/\s+/);
  const cron = nicknames[parts.join(' ').toLowerCase()] ?? parts.join(' ');
  if (parts.length === 6)
    return refuseCron('Remove the field for seconds: runs are at least one minute apart.');
  if (cron.split(' ').length !== 5) return refuseCron(example);
  const schedule = { cron, ...zone };
  try {
    if (calendarOf(schedule).after(0) === undefined)
      return refuseCron('No month has such a day.', 'a cron expression that matches a date');
  } catch (error) {
    return refuseCron(reasonOf(error));
  }
  return { schedule };
}

/** croner counts days and months from 0. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `${message
    .replace(/^\w+: /, '')
    .replace(/(for (?:day|month)): \d+$/, '$1')
    .replace(/\.$/, '')
    .slice(0, 150)}.`;
}

function parseTimes(times: unknown, days: unknown, zone: { timeZone: string }): ParsedSchedule {
  if (times === undefined) return refuse('schedule', expectedShape, 'neither');
  const isList = Array.isArray(times) && times.length > 0 && times.length <= scheduleLimits.timesOfDay;
  if (!isList)
    return refuse(
      'schedule.timesOfDay',
      `a list of 1 to ${scheduleLimits.timesOfDay} times such as 06:00`,
      shown(times),
    );
  const wrongTime = times.find((time) => typeof time !== 'string' || !/^([01]\d|2[0-3]):[0-5]\d$/.test(time));
  if (wrongTime !== undefined)
    return refuse('schedule.timesOfDay', 'times from 00:00 to 23:59, such as 06:00', shown(wrongTime));
  const timesOfDay = [...new Set(times as string[])].sort();
  if (days === undefined) return { schedule: { timesOfDay, ...zone } };
  if (!Array.isArray(days) || days.length === 0 || !days.every((day) => weekdays.includes(day as Weekday)))
    return refuse('schedule.daysOfWeek', `a list of ${weekdays.join(', ')}`, shown(days));
  const daysOfWeek = weekdays.filter((day) => days.includes(day));
  return { schedule: { timesOfDay, ...(daysOfWeek.length < 7 && { daysOfWeek }), ...zone } };
}

function refuseTimeZone(value: unknown): ParsedSchedule {
  const expected = 'an IANA time zone such as Europe/Berlin';
  return refuse('schedule.timeZone', expected, shown(value), suggestZone(value));
}

/** `Berlin` suggests Europe/Berlin. */
function suggestZone(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 50) return undefined;
  const zones = knownTimeZones();
  const city = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1);
  const byCity = new Map(zones.map((zone) => [city(zone), zone]));
  const found =
    nearest(value, zones) ?? byCity.get(nearest(city(value.replaceAll(' ', '_')), [...byCity.keys()]) ?? '');
  return found && `Did you mean ${found}?`;
}

const shown = (value: unknown) =>
  typeof value === 'object' ? JSON.stringify(value).slice(0, 80) : show(value);

const refuse = (field: string, expected: string, value: string, hint?: string): ParsedSchedule => ({
  problem: { field, expected, value, hint },
});
