import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface FeedSequence {
  /** Including deleted batches. */
  highest: number;
  lastAssigned: number;
}

const feedSequenceSql = sql<FeedSequence>`
  SELECT
    coalesce((
      SELECT f.position FROM :schema.feed f WHERE f.position > s.position
      ORDER BY f.position DESC LIMIT 1), s.position)::float8 AS highest,
    (SELECT CASE WHEN is_called THEN last_value ELSE 0 END
     FROM :schema.feed_position)::float8 AS "lastAssigned"
  FROM :schema.feed_start s`;

/** It is behind only after a restore or copy without the sequence: sequences ignore snapshots. */
export async function feedSequence(db: Queryable): Promise<FeedSequence> {
  const row = await feedSequenceSql.first(db);
  if (!row) throw new Error('feed_start has no row');
  return row;
}

export const isBehind = ({ highest, lastAssigned }: FeedSequence) => lastAssigned < highest;

const repairFeedSql = sql<{ repaired: boolean }>`SELECT :schema.repair_feed() AS repaired`;

/** Increments the epoch. undefined: not needed, or repaired by another process. */
export async function repairFeed(db: Queryable): Promise<FeedSequence | undefined> {
  const found = await feedSequence(db);
  if (!isBehind(found)) return undefined;
  const row = await repairFeedSql.first(db);
  return row?.repaired ? found : undefined;
}
