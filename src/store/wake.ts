import { createHash } from 'node:crypto';
import type { Queryable } from './database.ts';

/** As the function wake_executors names it. */
export function wakeChannel(schema: string): string {
  return `syncline_${createHash('md5').update(schema).digest('hex')}`;
}

/** Tells executors to look now. Once per transaction however often it is called; nothing is said unless it commits. */
export async function wakeExecutors(tx: Queryable): Promise<void> {
  await tx.query(`SELECT ${tx.schema}.wake_executors()`);
}
