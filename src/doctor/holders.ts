import type { HolderRow } from '../store/health/server.ts';
import { formatDuration } from '../values/duration.ts';

/** Standbys and active slots normally follow within seconds. */
export const maxHeldTransactions = 1_000_000;

const effect =
  'until it ends, vacuum cannot remove newer dead rows, claims and ticks slow down, and feed readers may wait.';

export function describeHolder(row: HolderRow, now: Date): string {
  const { kind, name, owner, state, since, transactions } = row;
  const age = since
    ? ` since ${since.toISOString()} (${formatDuration(now.getTime() - since.getTime())})`
    : '';
  const held = transactions === null ? '' : ` Its oldest snapshot is ${transactions} transactions old:`;
  const ending = held === '' ? `: ${effect}` : `.${held} ${effect}`;
  if (kind === 'session')
    return `Session ${name} (${detailsOf(row)}) has been in a transaction${age}${ending}`;
  if (kind === 'prepared') return `Prepared transaction "${name}" of ${owner} has waited${age}${ending}`;
  if (kind === 'slot') return `Replication slot "${name}" (${owner}) is ${state}${ending}`;
  return `Standby ${name} (${detailsOf(row)}) reports a snapshot through hot_standby_feedback${ending}`;
}

const detailsOf = ({ owner, application, client, state, command }: HolderRow) =>
  [
    application ?? 'no application_name',
    `user ${owner}`,
    client ? `from ${client}` : 'local',
    ...(state ? [state] : []),
    ...(command ? [`last statement ${command}`] : []),
  ].join(', ');

export function releaseOf({ kind, name, state }: HolderRow): string {
  if (kind === 'session') return `SELECT pg_terminate_backend(${name});`;
  if (kind === 'prepared') return `COMMIT PREPARED '${name}'; or ROLLBACK PREPARED '${name}';`;
  if (kind === 'slot' && state === 'inactive') return `SELECT pg_drop_replication_slot('${name}');`;
  return (
    'End the long query on the standby or its consumer, or set hot_standby_feedback = off there and run ' +
    'SELECT pg_reload_conf();'
  );
}
