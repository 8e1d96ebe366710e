import { send } from '../api.ts';
import { plural, seconds, words } from '../format.ts';
import { navigate } from '../router.ts';
import type { Connection } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { connectionName } from './names.tsx';
import { notify } from './toast.tsx';

interface Props {
  connection: Connection;
  path: string;
}

/** Everything that can be done to a connection. Each asks first, and for a reason. */
export function ConnectionActions({ connection, path }: Props) {
  if (connection.deleting_since) return null;
  const asked = { connection, path };
  return (
    <>
      <button type="button" class="button primary" onClick={() => askTrigger(asked)}>
        Sync now
      </button>
      {connection.status === 'active' ? (
        <button type="button" class="button" onClick={() => askPause(asked)}>
          Pause
        </button>
      ) : (
        <button type="button" class="button" onClick={() => askResume(asked)}>
          Resume
        </button>
      )}
      <button type="button" class="button" onClick={() => askInterval(asked)}>
        Interval
      </button>
      <button type="button" class="button" onClick={() => askCancel(asked)}>
        Cancel runs
      </button>
      <button type="button" class="button danger" onClick={() => askDelete(asked)}>
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
        label: 'What to sync',
        value: 'incremental',
        options: [
          { value: 'incremental', label: 'Incremental: go on from its cursor' },
          { value: 'full', label: 'Full: everything from the beginning' },
        ],
      },
      reasonField,
    ],
    confirm: 'Sync now',
    run: async ({ type, reason }) => {
      const body = { type, ...(reason && { reason }) };
      const { effect } = await send<{ effect: string }>('POST', `${path}/trigger`, body);
      notify(triggered[effect] ?? words(effect));
    },
  });
}

const triggered: Record<string, string> = {
  queued: 'Queued.',
  brought_forward: 'A run was waiting already; it was brought forward.',
  follows: 'A run is under way; another follows it.',
};

function askPause({ connection, path }: Props): void {
  ask({
    title: `Pause ${connectionName(connection)}?`,
    text: 'Nothing is synced until it is resumed. A run that has begun may finish.',
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
    text: 'It goes on from its cursor; what came up meanwhile is caught up in one run.',
    fields: [reasonField],
    confirm: 'Resume',
    run: async ({ reason }) => {
      await send('POST', `${path}/resume`, reason ? { reason } : {});
      notify('Resumed.');
    },
  });
}

function askInterval({ connection, path }: Props): void {
  ask({
    title: `Interval of ${connectionName(connection)}`,
    fields: [
      {
        name: 'interval_seconds',
        label: 'Seconds between runs',
        hint: `Now ${seconds(connection.base_interval_seconds)}. Leave it empty for the default.`,
        value: connection.interval_seconds === null ? '' : String(connection.interval_seconds),
        inputMode: 'numeric',
      },
      reasonField,
    ],
    confirm: 'Change',
    run: async ({ interval_seconds: text, reason }) => {
      // What is no number goes to the server as it is: its answer says best what would be.
      const interval = text === '' ? null : Number.isNaN(Number(text)) ? text : Number(text);
      await send('PATCH', path, { interval_seconds: interval, ...(reason && { reason }) });
      notify('Interval changed.');
    },
  });
}

function askCancel({ connection, path }: Props): void {
  ask({
    title: `Cancel runs of ${connectionName(connection)}?`,
    text: 'Ends the run under way and takes back those that wait. The schedule goes on.',
    fields: [reasonField],
    confirm: 'Cancel runs',
    danger: true,
    run: async ({ reason }) => {
      const body = reason ? { reason } : {};
      const { cancelled } = await send<{ cancelled: string[] }>('POST', `${path}/cancel`, body);
      notify(
        cancelled.length ? `Cancelled ${plural(cancelled.length, 'run')}.` : 'There was nothing to cancel.',
      );
    },
  });
}

function askDelete({ connection, path }: Props): void {
  ask({
    title: `Delete ${connectionName(connection)}?`,
    text: 'The connection, its runs and its cursor are gone for good.',
    fields: [reasonField],
    confirm: 'Delete for good',
    danger: true,
    run: async ({ reason }) => {
      // A large one is deleted in the background, and its page shows the progress.
      const deletion = await send<object | undefined>('DELETE', path, reason ? { reason } : {});
      if (deletion) return notify('Deleting in the background.');
      notify('Deleted.');
      navigate('connections');
    },
  });
}
