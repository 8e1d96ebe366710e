/** The week starts on `mon`. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];

/** Normalized: either `cron`, or `timesOfDay` with optional `daysOfWeek`. */
export interface Schedule {
  cron?: string | undefined;
  timesOfDay?: string[] | undefined;
  daysOfWeek?: Weekday[] | undefined;
  timeZone: string;
}

/** A calendar instead of an interval. Default time zone: UTC. */
export type ScheduleInput =
  | {
      /** Five fields: minute, hour, day of month, month, day of week. */
      cron: string;
      timeZone?: string | undefined;
    }
  | {
      /** `HH:MM`, 1 to 24 of them. */
      timesOfDay: readonly string[];
      /** Default: every day. */
      daysOfWeek?: readonly Weekday[] | undefined;
      timeZone?: string | undefined;
    };

export const scheduleLimits = { cronLength: 100, timesOfDay: 24 } as const;

/** Named as in the API. */
export function scheduleColumn({ cron, timesOfDay, daysOfWeek, timeZone }: Schedule): object {
  return {
    ...(cron !== undefined && { cron }),
    ...(timesOfDay && { times_of_day: timesOfDay }),
    ...(daysOfWeek && { days_of_week: daysOfWeek }),
    time_zone: timeZone,
  };
}

/** `cron 0 6 * * 1-5, Europe/Berlin` or `at 06:00, 18:00 on mon, UTC`. */
export function scheduleText({ cron, timesOfDay = [], daysOfWeek, timeZone }: Schedule): string {
  if (cron !== undefined) return `cron ${cron}, ${timeZone}`;
  const days = daysOfWeek ? ` on ${daysOfWeek.join(', ')}` : '';
  return `at ${timesOfDay.join(', ')}${days}, ${timeZone}`;
}
