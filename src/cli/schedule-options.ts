import type { Command } from 'commander';
import type { Config } from '../config/settings.ts';
import { invalidArgument } from '../contract/errors.ts';
import { minIntervalSeconds, parseSchedule, type ScheduleInput, type Weekday, weekdays } from '../index.ts';
import { invalid, requireOneOf } from '../values/arguments.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { wholeNumber } from './options.ts';

export interface ScheduleOptions {
  interval?: string;
  cron?: string;
  at?: string;
  days?: string;
  timeZone?: string;
}

export function withSchedule(command: Command, interval = 'sync interval'): Command {
  return command
    .option('--interval <seconds>', interval)
    .option('--cron <expression>', "cron expression of five fields, such as '0 6 * * 1-5'")
    .option('--at <times>', 'times of day, such as 06:00,18:00')
    .option('--days <days>', `with --at: days of the week, from ${weekdays.join(',')} (default: every day)`)
    .option('--time-zone <name>', 'time zone of --cron or --at, such as Europe/Berlin (default: UTC)');
}

export function intervalOf(
  { interval }: ScheduleOptions,
  { maxOverriddenIntervalSeconds }: Config['scheduler'],
): number | undefined {
  if (interval === undefined) return undefined;
  return wholeNumber('--interval', interval, minIntervalSeconds, maxOverriddenIntervalSeconds);
}

export function scheduleOf(options: ScheduleOptions): ScheduleInput | undefined {
  const input = inputOf(options);
  const problem = input && parseSchedule(input).problem;
  if (problem) throw invalidArgument({ ...problem, field: optionOf[problem.field] ?? problem.field });
  return input;
}

function inputOf({ interval, cron, at, days, timeZone }: ScheduleOptions): ScheduleInput | undefined {
  const options = [interval, cron, at].filter((option) => option !== undefined);
  if (options.length > 1)
    throw invalid('--interval, --cron and --at cannot be combined.', 'Remove all but one of them.');
  if (days !== undefined && at === undefined)
    throw invalid('--days applies only to --at.', 'In a cron expression, the last field sets the days.');
  if (timeZone !== undefined && cron === undefined && at === undefined)
    throw invalid('--time-zone applies only to --cron and --at.', 'Add one of them.');
  if (cron !== undefined) return { cron, ...omitUndefined({ timeZone }) };
  if (at === undefined) return undefined;
  const daysOfWeek = days === undefined ? undefined : listOf(days);
  for (const day of daysOfWeek ?? []) requireOneOf('--days', day, weekdays);
  return { timesOfDay: listOf(at), ...omitUndefined({ daysOfWeek: daysOfWeek as Weekday[], timeZone }) };
}

const optionOf: Readonly<Record<string, string>> = {
  'schedule.cron': '--cron',
  'schedule.timesOfDay': '--at',
  'schedule.timeZone': '--time-zone',
};

const listOf = (text: string) => text.split(',').map((item) => item.trim().toLowerCase());
