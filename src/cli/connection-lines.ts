import type { Connection } from '../index.ts';
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
    ['interval', `${sync.baseIntervalSeconds} s${sync.intervalSeconds === undefined ? ' (default)' : ''}`],
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

export function connectionTable(connections: Connection[]): string[] {
  return table([
    ['id', 'tenant', 'provider', 'external id', 'status', 'interval', 'next run', 'last ended'],
    ...connections.map(({ id, tenantId, provider, externalId, status, lastEndedAt, sync }) => [
      id,
      tenantId,
      provider,
      externalId ?? '-',
      status,
      `${sync.baseIntervalSeconds} s`,
      status === 'active' ? (sync.nextRunAt ? relativeTime(sync.nextRunAt) : 'next tick') : '-',
      relativeTime(lastEndedAt),
    ]),
  ]);
}
