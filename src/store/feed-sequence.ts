import type { Queryable } from './database.ts';

export interface FeedSequence {
  /** The highest position that is stored, or was before it was deleted. */
  highest: number;
  lastAssigned: number;
}

/**
 * The sequence is read after the snapshot is taken, so it is behind only if it went back: a restore or a copy did not carry it.
 */
export async function feedSequence(db: Queryable): Promise<FeedSequence> {
  const [row] = await db.query<FeedSequence>(
    `SELECT coalesce((SELECT f.position FROM ${db.schema}.feed f WHERE f.position > s.position
         ORDER BY f.position DESC LIMIT 1), s.position)::float8 AS highest,
       (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ${db.schema}.feed_position)::float8 AS "lastAssigned"
     FROM ${db.schema}.feed_start s`,
  );
  if (!row) throw new Error('feed_start has no row');
  return row;
}

export const isBehind = ({ highest, lastAssigned }: FeedSequence) => lastAssigned < highest;

/**
 * Moves a sequence that is behind to the highest stored position, and raises the epoch of the feed. Returns where it was, or undefined if
 * there was nothing to repair, or another process was faster.
 */
export async function repairFeed(db: Queryable): Promise<FeedSequence | undefined> {
  const found = await feedSequence(db);
  if (!isBehind(found)) return undefined;
  const [row] = await db.query<{ repaired: boolean }>(`SELECT ${db.schema}.repair_feed() AS repaired`);
  return row?.repaired ? found : undefined;
}
