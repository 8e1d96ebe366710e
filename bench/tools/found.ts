import type { SyncContext, SyncResult } from '../../dist/index.js';

/** What every connector of the benchmarks finds, without waiting for anybody: one signal and one cursor. */
export function foundBy({ connection, job }: Pick<SyncContext, 'connection' | 'job'>): SyncResult {
  const now = new Date();
  return {
    signals: [
      {
        kind: 'issue.opened',
        occurredAt: now,
        payload: { number: 1234, title: 'A small payload', account: connection.externalId },
        dedupeKey: job.id,
      },
    ],
    nextCursor: { page: job.id, since: now.toISOString() },
  };
}
