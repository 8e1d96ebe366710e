import type { Connection } from '../types.ts';
import type { Field } from './fields.tsx';

export function scheduleFields(
  intervalHint: string,
  { schedule, interval_seconds: interval }: Partial<Connection> = {},
): Field[] {
  const shownFor = (...values: string[]) => ({ shownFor: { name: 'kind', values } });
  return [
    {
      name: 'kind',
      label: 'Schedule type',
      value: !schedule ? 'interval' : schedule.cron === undefined ? 'times' : 'cron',
      options: [
        { value: 'interval', label: 'Interval' },
        { value: 'cron', label: 'Cron expression' },
        { value: 'times', label: 'Times of day' },
      ],
    },
    {
      name: 'interval_seconds',
      label: 'Interval (seconds)',
      hint: intervalHint,
      value: String(interval ?? ''),
      inputMode: 'numeric',
      ...shownFor('interval'),
    },
    {
      name: 'cron',
      label: 'Cron expression',
      hint: 'Example: 0 6 * * 1-5 (minute, hour, day, month, weekday)',
      value: schedule?.cron ?? '',
      ...shownFor('cron'),
    },
    {
      name: 'times_of_day',
      label: 'Times of day',
      hint: 'Example: 06:00, 18:00',
      value: (schedule?.times_of_day ?? []).join(', '),
      ...shownFor('times'),
    },
    {
      name: 'days_of_week',
      label: 'Days of the week',
      hint: 'Example: mon, fri. Leave empty for every day.',
      value: (schedule?.days_of_week ?? []).join(', '),
      ...shownFor('times'),
    },
    {
      name: 'time_zone',
      label: 'Time zone',
      hint: 'Example: Europe/Berlin. Leave empty for UTC.',
      value: schedule?.time_zone ?? '',
      ...shownFor('cron', 'times'),
    },
  ];
}

/** Null: the default interval. The server names the allowed values. */
export function scheduleOf(
  values: Record<string, string>,
): { schedule: object } | { interval_seconds: number | string | null } {
  const { kind, cron = '', interval_seconds: interval = '', time_zone } = values;
  const zone = time_zone ? { time_zone } : {};
  if (kind === 'cron') return { schedule: { cron, ...zone } };
  if (kind === 'times') {
    const days = listOf(values['days_of_week']);
    const times = listOf(values['times_of_day']);
    return { schedule: { times_of_day: times, ...(days.length > 0 && { days_of_week: days }), ...zone } };
  }
  if (interval === '') return { interval_seconds: null };
  return { interval_seconds: Number.isNaN(Number(interval)) ? interval : Number(interval) };
}

const listOf = (text = '') =>
  text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
