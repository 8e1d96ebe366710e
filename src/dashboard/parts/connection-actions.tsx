import { send } from '../api.ts';
import { plural, words } from '../format.ts';
import { navigate } from '../router.ts';
import type { Connection } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { askSchedule } from './ask-schedule.tsx';
import { connectionName } from './names.tsx';
import { notify } from './toast.tsx';

interface Props {
  connection: Connection;
  path: string;
}

export function ConnectionActions({ connection, path }: Props) {
  if (connection.deleting_since) return null;
  const target = { connection, path };
  return (
    <>
      <button type="button" class="button primary" onClick={() => askTrigger(target)}>
        Sync now
      </button>
      {connection.status === 'active' ? (
        <button type="button" class="button" onClick={() => askPause(target)}>
          Pause
        </button>
      ) : (
        <button type="button" class="button" onClick={() => askResume(target)}>
          Resume
        </button>
      )}
      <button type="button" class="button" onClick={() => askSchedule(target)}>
        Schedule
      </button>
      <button type="button" class="button" onClick={() => askCancel(target)}>
        Cancel jobs
      </button>
      <button type="button" class="button danger" onClick={() => askDelete(target)}>
        Delete
      </button>
    </>
  );
}

function askTrigger({ connection, path }: Props): void {
  ask({
    title: `Sync ${connectionName(connection)} now`,
    fields: [
      {
        name: 'type',
        label: 'Type',
        value: 'incremental',
        options: [
          { value: 'incremental', label: 'Incremental: continue from the cursor' },
          { value: 'full', label: 'Full: start from the beginning' },
        ],
      },
      reasonField,
    ],
    confirm: 'Sync now',
    run: async ({ type, reason }) => {
      const body = { type, ...(reason && { reason }) };
      const { effect } = await send<{ effect: string }>('POST', `${path}/trigger`, body);
      notify(effectTexts[effect] ?? words(effect));
    },
  });
}

const effectTexts: Record<string, string> = {
  queued: 'Queued.',
  brought_forward: 'The queued job is due now.',
  follows: 'A run is in progress; another run starts when it ends.',
};

function askPause({ connection, path }: Props): void {
  ask({
    title: `Pause ${connectionName(connection)}?`,
    text: 'No run starts until the connection is resumed. A run in progress continues.',
    fields: [reasonField],
    confirm: 'Pause',
    run: async ({ reason }) => {
      await send('POST', `${path}/pause`, reason ? { reason } : {});
      notify('Paused.');
    },
  });
}

function askResume({ connection, path }: Props): void {
  ask({
    title: `Resume ${connectionName(connection)}?`,
    text: 'The next run continues from the cursor and catches up.',
    fields: [reasonField],
    confirm: 'Resume',
    run: async ({ reason }) => {
      const { status } = await send<Connection>('POST', `${path}/resume`, reason ? { reason } : {});
      notify(status === 'needs_auth' ? 'The connection is not resumed: it needs a credential.' : 'Resumed.');
    },
  });
}

function askCancel({ connection, path }: Props): void {
  ask({
    title: `Cancel jobs of ${connectionName(connection)}?`,
    text: 'Cancels the running and queued jobs. The schedule does not change.',
    fields: [reasonField],
    confirm: 'Cancel jobs',
    danger: true,
    run: async ({ reason }) => {
      const body = reason ? { reason } : {};
      const { cancelled } = await send<{ cancelled: string[] }>('POST', `${path}/cancel`, body);
      notify(cancelled.length ? `Cancelled ${plural(cancelled.length, 'job')}.` : 'Nothing to cancel.');
    },
  });
}

function askDelete({ connection, path }: Props): void {
  ask({
    title: `Delete ${connectionName(connection)}?`,
    text:
      'Permanently deletes the connection, its jobs, signals, cursor and webhook, and its credential if no other ' +
      'connection uses it.',
    fields: [reasonField],
    confirm: 'Delete permanently',
    danger: true,
    run: async ({ reason }) => {
      // Large connections are deleted in the background.
      const deletion = await send<object | undefined>('DELETE', path, reason ? { reason } : {});
      if (deletion) return notify('Deleting in the background.');
      notify('Deleted.');
      navigate('connections');
    },
  });
}
