import { maxPageBytes } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { indexLookup } from './plans.ts';
import { operatorId } from './scope.ts';
import { largeColumns, type SignalFilter, type SignalRow, signalColumns } from './signals.ts';

/** The signals of one transaction, in commit order. */
export interface Batch {
  position: number;
  batch: string;
}

export interface FeedSnapshot {
  /** In order; positions may have gaps. */
  batches: Batch[];
  /** Snapshot xmin: transactions below it have ended, and are visible if committed. */
  allEndedBelow: bigint;
  /** Next transaction id: transactions that have begun are below it. */
  begunBelow: bigint;
  start: FeedStart;
  /** The last batch at or before the reader's position, if after the start. */
  reached: Batch | undefined;
  lastAssigned: number;
}

/** Deleted up to `position`; `batch` is the one there, if known. `epoch` counts sequence repairs. */
export interface FeedStart {
  position: number;
  batch: string | null;
  epoch: number;
}

/**
 * One statement, so batches and bounds come from one snapshot. Its xmax is one past the last *ended*
 * transaction; adding `age(xmax)` gives the next transaction id.
 */
export async function readFeedSnapshot(
  db: Queryable,
  { from, reached, limit }: { from: number; reached: number; limit: number },
): Promise<FeedSnapshot> {
  const rows = await db.query<{
    xmin: string;
    next: string;
    start: number;
    start_batch: string | null;
    epoch: number;
    last_assigned: number;
    reached: number | null;
    reached_batch: string;
    position: number | null;
    batch: string;
  }>(
    `SELECT pg_snapshot_xmin(now.snapshot)::text AS xmin,
       (pg_snapshot_xmax(now.snapshot)::text::bigint + age(pg_snapshot_xmax(now.snapshot)::xid))::text AS next,
       s.position::float8 AS start, s.batch AS start_batch, s.epoch, q.last_assigned::float8,
       r.position::float8 AS reached, r.batch AS reached_batch, f.position::float8, f.batch
     FROM (SELECT pg_current_snapshot() AS snapshot) now
     CROSS JOIN ${db.schema}.feed_start s
     CROSS JOIN (SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last_assigned FROM ${db.schema}.feed_position) q
     LEFT JOIN LATERAL (
       SELECT position, batch FROM ${db.schema}.feed WHERE position > s.position AND position <= $3
       ORDER BY position DESC LIMIT 1) r ON true
     LEFT JOIN LATERAL (
       SELECT position, batch FROM ${db.schema}.feed WHERE position IS NOT NULL AND position >= $1
       ORDER BY position LIMIT $2) f ON true
     ORDER BY f.position`,
    [from, limit, reached],
  );
  const [first] = rows;
  if (!first) throw new Error('feed_start has no row');
  return {
    batches: rows.flatMap(({ position, batch }) => (position === null ? [] : [{ position, batch }])),
    allEndedBelow: BigInt(first.xmin),
    begunBelow: BigInt(first.next),
    start: { position: first.start, batch: first.start_batch, epoch: first.epoch },
    reached: first.reached === null ? undefined : { position: first.reached, batch: first.reached_batch },
    lastAssigned: first.last_assigned,
  };
}

/** undefined if there are fewer visible batches. */
export async function positionFromEnd(db: Queryable, count: number): Promise<number | undefined> {
  const [row] = await db.query<{ position: number }>(
    `SELECT position::float8 FROM ${db.schema}.feed WHERE position IS NOT NULL ORDER BY position DESC OFFSET $1 LIMIT 1`,
    [count - 1],
  );
  return row?.position;
}

/** The last assigned position; its transaction may not have committed yet. */
export async function lastPosition(db: Queryable): Promise<number> {
  const [row] = await db.query<{ position: number }>(
    `SELECT CASE WHEN is_called THEN last_value ELSE 0 END::float8 AS position FROM ${db.schema}.feed_position`,
  );
  return row?.position ?? 0;
}

export async function startOfFeed(db: Queryable): Promise<FeedStart> {
  const [row] = await db.query<FeedStart>(
    `SELECT position::float8, batch, epoch FROM ${db.schema}.feed_start`,
  );
  if (!row) throw new Error('feed_start has no row');
  return row;
}

export interface FeedRow extends SignalRow, Listed {
  position: number;
  /** Position of the next signal, also beyond the page. */
  next_position: number | null;
}

export interface WithinBatch {
  tenantId: string;
  id: string;
}

/** After everything up to `position`, or within the batch there. */
export interface FeedPlace {
  position: number;
  within?: WithinBatch | undefined;
  /** Absent in cursors from earlier releases. */
  proof?: FeedProof | undefined;
}

/** Detects cursors from before a restore. */
export interface FeedProof {
  epoch: number;
  /** Short hash of the batch; empty if unknown, as at position 0. */
  mark: string;
}

/**
 * Start keys per batch: `within` for the first. Index keys, because an optional condition would scan the
 * batch up to the start.
 */
export function batchStarts(batches: Batch[], within: WithinBatch | undefined): [string[], string[]] {
  const starts = batches.map((_, i) => (i === 0 && within) || batchBeginning);
  return [starts.map(({ tenantId }) => tenantId), starts.map(({ id }) => id)];
}

/** No tenant has this id. */
const batchBeginning: WithinBatch = { tenantId: operatorId, id: operatorId };

export interface FeedPage {
  within: WithinBatch | undefined;
  filter: SignalFilter;
  limit: number;
  payload: boolean;
  /** Default: `maxPageBytes`. */
  maxBytes?: number | undefined;
}

/**
 * ORDER BY and comparison start with the batch, so only the index on (batch, tenant_id, id) fits: with
 * statistics of one batch or an empty table, the planner read all signals of a tenant per batch.
 */
export function signalsOfBatches(
  db: Queryable,
  batches: Batch[],
  { within, filter: { connectionId, provider, kind }, limit, payload, maxBytes = maxPageBytes }: FeedPage,
): Promise<FeedRow[]> {
  const page = `SELECT q.*, lead(q.position) OVER (ORDER BY q.n, q.tenant_id, q.id) AS next_position FROM (
     SELECT s.*, b.position, b.n
     FROM unnest($1::uuid[], $2::float8[], $3::uuid[], $4::uuid[]) WITH ORDINALITY AS b (batch, position, after_tenant_id, after_id, n)
     CROSS JOIN LATERAL (
       SELECT s.id, s.tenant_id, s.provider_slug, s.connection_id, s.job_id, s.kind, s.occurred_at, s.received_at, s.dedupe_key, s.payload
       FROM ${db.tables.signals} s
       WHERE ${indexLookup('s.batch', 'b.batch')}
         AND (s.batch, s.tenant_id, s.id) > (b.batch, b.after_tenant_id, b.after_id)
         AND ($5::uuid IS NULL OR s.connection_id = $5) AND ($6::text IS NULL OR s.provider_slug = $6) AND ($7::text IS NULL OR s.kind = $7)
       ORDER BY s.batch, s.tenant_id, s.id LIMIT $8) s
     ORDER BY b.n, s.tenant_id, s.id LIMIT $8) q`;
  const order = 'p.n, p.tenant_id, p.id';
  const cut = { columns: largeColumns(payload), order, above: '$8', maxBytes: '$9' } as const;
  return db.query<FeedRow>(
    `SELECT ${signalColumns(db, payload)}, s.position, s.next_position, s.followed
     FROM ${withinBytes(page, cut)} s ORDER BY s.n, s.tenant_id, s.id`,
    [
      batches.map(({ batch }) => batch),
      batches.map(({ position }) => position),
      ...batchStarts(batches, within),
      connectionId,
      provider,
      kind,
      limit + 1,
      maxBytes,
    ],
  );
}
