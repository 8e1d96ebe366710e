import { createHash } from 'node:crypto';
import type { Queryable } from './database.ts';
import { prepared, sql } from './sql.ts';

/** Must match SQL function wake_executors. */
export function wakeChannel(schema: string): string {
  return `syncline_${createHash('md5').update(schema).digest('hex')}`;
}

export type WakeReason = 'jobs' | 'runs';

const wakeExecutorsSql = prepared<object>`SELECT :schema.wake_executors('jobs')`;

/** Once per transaction, on COMMIT. */
export async function wakeExecutors(tx: Queryable): Promise<void> {
  await wakeExecutorsSql.all(tx);
}

const wakeIfRunnableSql = prepared<object>`
  SELECT :schema.wake_executors('jobs')
  WHERE EXISTS (
    SELECT FROM :schema.sync_jobs
    WHERE connection_id = :connectionId AND status = 'queued' AND NOT blocked
      AND scheduled_at <= :now AND (retry_after IS NULL OR retry_after <= :now))`;

export async function wakeIfRunnable(tx: Queryable, now: Date, connectionId: string): Promise<void> {
  await wakeIfRunnableSql.all(tx, { connectionId, now });
}

const recheckRunsSql = sql<object>`SELECT :schema.wake_executors('runs')`;

export async function recheckRuns(tx: Queryable): Promise<void> {
  await recheckRunsSql.all(tx);
}
