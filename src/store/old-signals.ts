import type { Queryable } from './database.ts';
import { type Batch, startColumns, type WithinBatch, withStarts } from './feed.ts';
import { sql, unnest } from './sql.ts';

const oldBatchesSql = sql<Batch & { created_at: Date }>`
  SELECT f.position::float8, f.batch, f.created_at FROM :schema.feed f
  WHERE f.position IS NOT NULL AND f.position >= :from ORDER BY f.position LIMIT :limit`;

/** Stops at the first kept batch, the limit of the feed start: a search by age would scan the whole feed. */
export async function oldBatches(
  tx: Queryable,
  { from, cutoff, limit }: { from: number; cutoff: Date; limit: number },
): Promise<Batch[]> {
  const batches = await oldBatchesSql.all(tx, { from, limit });
  const firstKept = batches.findIndex((batch) => batch.created_at >= cutoff);
  return firstKept < 0 ? batches : batches.slice(0, firstKept);
}

export interface OldSignal {
  position: number;
  batch: string;
  tenant_id: string;
  id: string;
}

/** No ORDER BY: a sort would read all batches. */
const firstSignalsSql = sql<OldSignal>`
  SELECT b.position, b.batch, s.tenant_id, s.id
  FROM ${unnest('b', startColumns)}
  CROSS JOIN LATERAL (
    SELECT s.tenant_id, s.id FROM :schema.signals s
    WHERE s.batch = ANY (ARRAY[b.batch])
      AND (s.batch, s.tenant_id, s.id) > (b.batch, b.after_tenant_id, b.after_id)
    ORDER BY s.batch, s.tenant_id, s.id LIMIT :limit) s
  LIMIT :limit`;

/** In feed order, after `within` in the first batch. */
export function firstSignals(
  tx: Queryable,
  batches: Batch[],
  { within, limit }: { within: WithinBatch | undefined; limit: number },
): Promise<OldSignal[]> {
  return firstSignalsSql.all(tx, { b: withStarts(batches, within), limit });
}

const deleteOldSignalsSql = sql<{ deleted: number }>`
  WITH held AS MATERIALIZED (
    SELECT s.batch, s.tenant_id, s.id
    FROM ${unnest('given', { batch: 'uuid', tenant_id: 'uuid', id: 'uuid' })}
    JOIN :schema.signals s ON s.batch = ANY (ARRAY[given.batch])
      AND s.tenant_id = ANY (ARRAY[given.tenant_id]) AND s.id = ANY (ARRAY[given.id])
    FOR UPDATE OF s SKIP LOCKED),
  gone AS (
    DELETE FROM :schema.signals s USING held
    WHERE s.batch = ANY (ARRAY[held.batch])
      AND s.tenant_id = ANY (ARRAY[held.tenant_id]) AND s.id = ANY (ARRAY[held.id])
    RETURNING 1)
  SELECT count(*)::int AS deleted FROM gone`;

/** Skips locked signals. By id alone, with statistics of an empty table, the planner scans another index. */
export async function deleteOldSignals(tx: Queryable, signals: OldSignal[]): Promise<number> {
  const row = await deleteOldSignalsSql.first(tx, { given: signals });
  return row?.deleted ?? 0;
}

const deleteBatchesSql = sql<object>`
  DELETE FROM :schema.feed f USING ${unnest('given', { batch: 'uuid' })}
  WHERE f.batch = ANY (ARRAY[given.batch])`;

export async function deleteBatches(tx: Queryable, batches: Batch[]): Promise<void> {
  await deleteBatchesSql.all(tx, { given: batches });
}

const moveStartOfFeedSql = sql<object>`
  UPDATE :schema.feed_start SET position = :position WHERE position < :position`;

/** Readers before this position get EXPIRED. */
export async function moveStartOfFeed(tx: Queryable, position: number): Promise<void> {
  await moveStartOfFeedSql.all(tx, { position });
}
