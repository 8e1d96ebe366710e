import { type Connection, scheduleText } from '../index.ts';
import { cut, table } from './output.ts';
import { fullTime, relativeTime } from './time-text.ts';

/** --json prints them in full. */
const maxValueLength = 500;
const value = (json: unknown) => cut(JSON.stringify(json) ?? '-', maxValueLength);

export function connectionLines({ sync, ...connection }: Connection): string[] {
  return table([
    ['id', connection.id],
    ['tenant', connection.tenantId],
    ['provider', connection.provider],
    ['external id', connection.externalId ?? '-'],
    ['credential', connection.credentialId ?? '-'],
    ['status', connection.status],
    ['runs', cadenceOf({ sync, ...connection })],
    ['next run', fullTime(sync.nextRunAt)],
    ['last ended', fullTime(connection.lastEndedAt)],
    ['first activated', fullTime(sync.firstActivatedAt)],
    ['cursor', value(sync.cursor)],
    ['config', value(connection.config)],
    ...sync.invalid.map(({ field, value, expected }) => [
      'invalid metadata',
      `${field} is ${value}, expected ${expected}`,
    ]),
    ['created', fullTime(connection.createdAt)],
    ['updated', fullTime(connection.updatedAt)],
  ]);
}

export function cadenceOf({ schedule, sync }: Pick<Connection, 'schedule' | 'sync'>): string {
  if (schedule) return scheduleText(schedule);
  return `every ${sync.baseIntervalSeconds} s${sync.intervalSeconds === undefined ? ' (default)' : ''}`;
}

export const connectionHead = [
  'id',
  'tenant',
  'provider',
  'external id',
  'status',
  'runs',
  'next run',
  'last ended',
];

export function connectionCells(connection: Connection): string[] {
  const { id, tenantId, provider, externalId, status, lastEndedAt, schedule, sync } = connection;
  return [
    id,
    tenantId,
    provider,
    externalId ?? '-',
    status,
    schedule ? scheduleText(schedule) : `every ${sync.baseIntervalSeconds} s`,
    status === 'active' ? (sync.nextRunAt ? relativeTime(sync.nextRunAt) : 'next tick') : '-',
    relativeTime(lastEndedAt),
  ];
}
