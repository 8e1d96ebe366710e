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

/** Executors recheck their claims: a running job was taken from its process. */
export async function recheckRuns(tx: Queryable): Promise<void> {
  await tx.query(`SELECT ${tx.schema}.wake_executors('runs')`);
}
