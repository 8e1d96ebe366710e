import type { Queryable } from './database.ts';
import { type Batch, batchStarts, type WithinBatch } from './feed.ts';
import { indexLookup } from './plans.ts';

/**
 * Stops at the first batch to keep: a search by age would scan the whole feed, and no kept batch may precede
 * the feed start.
 */
export async function oldBatches(
  tx: Queryable,
  { from, cutoff, limit }: { from: number; cutoff: Date; limit: number },
): Promise<Batch[]> {
  const batches = await tx.query<Batch & { created_at: Date }>(
    `SELECT f.position::float8, f.batch, f.created_at FROM ${tx.schema}.feed f
     WHERE f.position IS NOT NULL AND f.position >= $1 ORDER BY f.position LIMIT $2`,
    [from, limit],
  );
  const firstKept = batches.findIndex((batch) => batch.created_at >= cutoff);
  return firstKept < 0 ? batches : batches.slice(0, firstKept);
}

export interface OldSignal {
  position: number;
  batch: string;
  tenant_id: string;
  id: string;
}

/** In feed order, starting after `within` in the first batch. */
export function firstSignals(
  tx: Queryable,
  batches: Batch[],
  { within, limit }: { within: WithinBatch | undefined; limit: number },
): Promise<OldSignal[]> {
  return tx.query<OldSignal>(
    // No ORDER BY: a nested loop stops at the limit; a sort would read all batches.
    `SELECT b.position, b.batch, s.tenant_id, s.id
     FROM unnest($1::uuid[], $2::float8[], $3::uuid[], $4::uuid[]) AS b (batch, position, after_tenant_id, after_id)
     CROSS JOIN LATERAL (
       SELECT s.tenant_id, s.id FROM ${tx.schema}.signals s
       WHERE ${indexLookup('s.batch', 'b.batch')}
         AND (s.batch, s.tenant_id, s.id) > (b.batch, b.after_tenant_id, b.after_id)
       ORDER BY s.batch, s.tenant_id, s.id LIMIT $5) s
     LIMIT $5`,
    [
      batches.map(({ batch }) => batch),
      batches.map(({ position }) => position),
      ...batchStarts(batches, within),
      limit,
    ],
  );
}

/**
 * Skips locked signals. Joins on all three columns: by id alone, with statistics of an empty table, the
 * planner scans an index whose last column is the id.
 */
export async function deleteSignals(tx: Queryable, signals: OldSignal[]): Promise<number> {
  const [row] = await tx.query<{ deleted: number }>(
    `WITH held AS MATERIALIZED (
       SELECT s.batch, s.tenant_id, s.id
       FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS given (batch, tenant_id, id)
       JOIN ${tx.schema}.signals s ON ${indexLookup('s.batch', 'given.batch')}
         AND ${indexLookup('s.tenant_id', 'given.tenant_id')} AND ${indexLookup('s.id', 'given.id')}
       FOR UPDATE OF s SKIP LOCKED),
     gone AS (
       DELETE FROM ${tx.schema}.signals s USING held WHERE ${indexLookup('s.batch', 'held.batch')}
         AND ${indexLookup('s.tenant_id', 'held.tenant_id')} AND ${indexLookup('s.id', 'held.id')} RETURNING 1)
     SELECT count(*)::int AS deleted FROM gone`,
    [
      signals.map((signal) => signal.batch),
      signals.map((signal) => signal.tenant_id),
      signals.map((signal) => signal.id),
    ],
  );
  return row?.deleted ?? 0;
}

export async function deleteBatches(tx: Queryable, batches: Batch[]): Promise<void> {
  await tx.query(
    `DELETE FROM ${tx.schema}.feed f USING unnest($1::uuid[]) AS given (batch) WHERE ${indexLookup('f.batch', 'given.batch')}`,
    [batches.map(({ batch }) => batch)],
  );
}

/** Readers before this position get EXPIRED. */
export async function moveStartOfFeed(tx: Queryable, position: number): Promise<void> {
  await tx.query(`UPDATE ${tx.schema}.feed_start SET position = $1 WHERE position < $1`, [position]);
}
