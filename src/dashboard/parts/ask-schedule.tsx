import { send } from '../api.ts';
import { seconds } from '../format.ts';
import type { Connection } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { connectionName } from './names.tsx';
import { notify } from './toast.tsx';

/** The first non-empty field applies: a cron expression, times of day, an interval. */
export function askSchedule({ connection, path }: { connection: Connection; path: string }): void {
  const { schedule } = connection;
  ask({
    title: `Schedule of ${connectionName(connection)}`,
    text: 'Fill in one of cron expression, times of day and interval. Leave all empty for the default interval.',
    fields: [
      {
        name: 'cron',
        label: 'Cron expression',
        hint: 'Minute, hour, day, month, weekday. Example: 0 6 * * 1-5',
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
        label: 'Days for the times of day',
        hint: 'Example: mon, fri. Leave empty for every day.',
        value: (schedule?.days_of_week ?? []).join(', '),
      },
      {
        name: 'time_zone',
        label: 'Time zone',
        hint: 'Example: Europe/Berlin. Leave empty for UTC.',
        value: schedule?.time_zone ?? '',
      },
      {
        name: 'interval_seconds',
        label: 'Seconds between runs',
        hint: `Without a schedule, currently ${seconds(connection.base_interval_seconds)}.`,
        value: schedule || connection.interval_seconds === null ? '' : String(connection.interval_seconds),
        inputMode: 'numeric',
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

/** The server rejects contradictions and names the allowed values. */
function changeOf(values: Record<string, string>): object {
  const { cron, times_of_day: times, days_of_week: days, time_zone, interval_seconds: interval } = values;
  const isSet = Boolean(cron || times || days || time_zone);
  const schedule = {
    ...(cron && { cron }),
    ...(times && { times_of_day: listOf(times) }),
    ...(days && { days_of_week: listOf(days) }),
    ...(time_zone && { time_zone }),
  };
  // For non-numbers, the server names the range.
  const number = !interval ? null : Number.isNaN(Number(interval)) ? interval : Number(interval);
  if (!isSet) return { interval_seconds: number };
  return { schedule, ...(number !== null && { interval_seconds: number }) };
}

const listOf = (text: string) => text.split(/[\s,]+/).filter(Boolean);
