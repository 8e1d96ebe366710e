import { send } from '../api.ts';
import { seconds } from '../format.ts';
import type { Connection } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { connectionName } from './names.tsx';
import { notify } from './toast.tsx';

export function askSchedule({ connection, path }: { connection: Connection; path: string }): void {
  const { schedule, interval_seconds: interval } = connection;
  ask({
    title: `Schedule of ${connectionName(connection)}`,
    fields: [
      {
        name: 'kind',
        label: 'Run by',
        value: !schedule ? 'interval' : schedule.cron === undefined ? 'times' : 'cron',
        options: [
          { value: 'interval', label: 'Interval' },
          { value: 'cron', label: 'Cron expression' },
          { value: 'times', label: 'Times of day' },
        ],
      },
      {
        name: 'interval_seconds',
        label: 'Interval: seconds between runs',
        hint: `Currently ${seconds(connection.base_interval_seconds)}. Leave empty for the default.`,
        value: interval === null ? '' : String(interval),
        inputMode: 'numeric',
      },
      {
        name: 'cron',
        label: 'Cron: minute, hour, day, month, weekday',
        hint: 'Example: 0 6 * * 1-5',
        value: schedule?.cron ?? '',
      },
      {
        name: 'times_of_day',
        label: 'Times of day',
        hint: 'Example: 06:00, 18:00',
        value: (schedule?.times_of_day ?? []).join(', '),
      },
      {
        name: 'days_of_week',
        label: 'Days of the times',
        hint: 'Example: mon, fri. Leave empty for every day.',
        value: (schedule?.days_of_week ?? []).join(', '),
      },
      {
        name: 'time_zone',
        label: 'Time zone of cron or times',
        hint: 'Example: Europe/Berlin. Leave empty for UTC.',
        value: schedule?.time_zone ?? '',
      },
      reasonField,
    ],
    confirm: 'Change',
    run: async ({ reason, ...values }) => {
      await send('PATCH', path, { ...changeOf(values), ...(reason && { reason }) });
      notify('Schedule changed.');
    },
  });
}

/** Only the fields of the selected kind. The server names the allowed values. */
function changeOf(values: Record<string, string>): object {
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

const listOf = (text = '') => text.split(/[\s,]+/).filter(Boolean);
