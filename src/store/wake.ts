import { createHash } from 'node:crypto';
import type { Queryable } from './database.ts';

/** Must match the SQL function wake_executors. */
export function wakeChannel(schema: string): string {
  return `syncline_${createHash('md5').update(schema).digest('hex')}`;
}

export type WakeReason = 'jobs' | 'runs';

/** Delivers one notification per transaction, on COMMIT. */
export async function wakeExecutors(tx: Queryable): Promise<void> {
  await tx.query(`SELECT ${tx.schema}.wake_executors('jobs')`);
}

/** Wakes executors only if a job of the connection can be claimed now. */
export async function wakeIfRunnable(tx: Queryable, now: Date, connectionId: string): Promise<void> {
  await tx.query(
    `SELECT ${tx.schema}.wake_executors('jobs')
     WHERE EXISTS (
       SELECT FROM ${tx.schema}.sync_jobs
       WHERE connection_id = $1 AND status = 'queued' AND NOT blocked
         AND scheduled_at <= $2 AND (retry_after IS NULL OR retry_after <= $2))`,
    [connectionId, now],
  );
}

/** Executors recheck their claims: a running job was taken from its process. */
export async function recheckRuns(tx: Queryable): Promise<void> {
  await tx.query(`SELECT ${tx.schema}.wake_executors('runs')`);
}
