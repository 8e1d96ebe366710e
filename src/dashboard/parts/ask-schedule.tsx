import { send } from '../api.ts';
import { seconds } from '../format.ts';
import type { Connection } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { connectionName } from './names.tsx';
import { scheduleFields, scheduleOf } from './schedule-fields.ts';
import { notify } from './toast.tsx';

export function askSchedule({ connection, path }: { connection: Connection; path: string }): void {
  const hint = `Currently ${seconds(connection.base_interval_seconds)}. Leave empty for the default.`;
  ask({
    title: `Schedule of ${connectionName(connection)}`,
    fields: [...scheduleFields(hint, connection), reasonField],
    confirm: 'Change',
    run: async ({ reason, ...values }) => {
      await send('PATCH', path, { ...scheduleOf(values), ...(reason && { reason }) });
      notify('Schedule changed.');
    },
  });
}
