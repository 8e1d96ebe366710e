import { createHash } from 'node:crypto';
import type { Queryable } from './database.ts';

/** As the function wake_executors names it. */
export function wakeChannel(schema: string): string {
  return `syncline_${createHash('md5').update(schema).digest('hex')}`;
}

/** What executors can be told. */
export type WakeReason = 'jobs' | 'runs';

/** Tells executors that there may be a job to claim. Once per transaction however often it is called; nothing is said unless it commits. */
export async function wakeExecutors(tx: Queryable): Promise<void> {
  await tx.query(`SELECT ${tx.schema}.wake_executors('jobs')`);
}

/** Tells executors to look after their runs: one of them is not theirs any more. */
export async function recheckRuns(tx: Queryable): Promise<void> {
  await tx.query(`SELECT ${tx.schema}.wake_executors('runs')`);
}
