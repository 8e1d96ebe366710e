import { maxPageBytes } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { operatorId } from './scope.ts';
import {
  largeColumns,
  largeColumnsWithPayload,
  type SignalFilter,
  type SignalRow,
  signalColumns,
  signalColumnsWithPayload,
} from './signals.ts';
import { sql, unnest } from './sql.ts';

/** One transaction's signals, in commit order. */
export interface Batch {
  position: number;
  batch: string;
}

export interface FeedSnapshot {
  /** In order; positions may have gaps. */
  batches: Batch[];
  /** Snapshot xmin: transactions below have ended, visible if committed. */
  allEndedBelow: bigint;
  /** Next transaction id, above all begun transactions. */
  begunBelow: bigint;
  start: FeedStart;
  /** The last batch up to the reader's position, after the start. */
  reached: Batch | undefined;
  lastAssigned: number;
}

/** Deleted up to `position`, the place of `batch` if known. `epoch` counts sequence repairs. */
export interface FeedStart {
  position: number;
  batch: string | null;
  epoch: number;
}

const readFeedSnapshotSql = sql<{
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
}>`
  SELECT pg_snapshot_xmin(now.snapshot)::text AS xmin,
    (pg_snapshot_xmax(now.snapshot)::text::bigint + age(pg_snapshot_xmax(now.snapshot)::xid))::text AS next,
    s.position::float8 AS start, s.batch AS start_batch, s.epoch, q.last_assigned::float8,
    r.position::float8 AS reached, r.batch AS reached_batch, f.position::float8, f.batch
  FROM (SELECT pg_current_snapshot() AS snapshot) now
  CROSS JOIN :schema.feed_start s
  CROSS JOIN (
    SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS last_assigned FROM :schema.feed_position) q
  LEFT JOIN LATERAL (
    SELECT position, batch FROM :schema.feed WHERE position > s.position AND position <= :reached
    ORDER BY position DESC LIMIT 1) r ON true
  LEFT JOIN LATERAL (
    SELECT position, batch FROM :schema.feed WHERE position IS NOT NULL AND position >= :from
    ORDER BY position LIMIT :limit) f ON true
  ORDER BY f.position`;

/** One snapshot. xmax follows the last *ended* transaction; adding `age(xmax)` gives the next id. */
export async function readFeedSnapshot(
  db: Queryable,
  { from, reached, limit }: { from: number; reached: number; limit: number },
): Promise<FeedSnapshot> {
  const rows = await readFeedSnapshotSql.all(db, { from, limit, reached });
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

const positionFromEndSql = sql<{ position: number }>`
  SELECT position::float8 FROM :schema.feed WHERE position IS NOT NULL
  ORDER BY position DESC OFFSET :offset LIMIT 1`;

/** undefined: fewer batches. */
export async function positionFromEnd(db: Queryable, count: number): Promise<number | undefined> {
  const row = await positionFromEndSql.first(db, { offset: count - 1 });
  return row?.position;
}

const lastPositionSql = sql<{ position: number }>`
  SELECT CASE WHEN is_called THEN last_value ELSE 0 END::float8 AS position FROM :schema.feed_position`;

/** Perhaps not committed yet. */
export async function lastPosition(db: Queryable): Promise<number> {
  const row = await lastPositionSql.first(db);
  return row?.position ?? 0;
}

const startOfFeedSql = sql<FeedStart>`SELECT position::float8, batch, epoch FROM :schema.feed_start`;

export async function startOfFeed(db: Queryable): Promise<FeedStart> {
  const row = await startOfFeedSql.first(db);
  if (!row) throw new Error('feed_start has no row');
  return row;
}

export interface FeedRow extends SignalRow, Listed {
  position: number;
  /** Also beyond the page. */
  next_position: number | null;
}

export interface WithinBatch {
  tenantId: string;
  id: string;
}

/** After `position`, or within the batch there. */
export interface FeedPlace {
  position: number;
  within?: WithinBatch | undefined;
  /** Absent in cursors from earlier releases. */
  proof?: FeedProof | undefined;
}

/** Detects cursors from before a restore. */
export interface FeedProof {
  epoch: number;
  /** Short hash; empty if unknown, as at 0. */
  mark: string;
}

/** As index keys: an optional condition would scan the first batch up to `within`. */
export function withStarts(batches: Batch[], within: WithinBatch | undefined) {
  return batches.map((batch, i) => {
    const { tenantId, id } = (i === 0 && within) || batchBeginning;
    return { ...batch, afterTenantId: tenantId, afterId: id };
  });
}

export const startColumns = { batch: 'uuid', position: 'float8', afterTenantId: 'uuid', afterId: 'uuid' };

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
 * ORDER BY and comparison lead with the batch, as only the index on (batch, tenant_id, id) does: with
 * statistics of an almost empty table, the planner read a tenant's signals per batch.
 */
const batchesPage = `
  SELECT q.*, lead(q.position) OVER (ORDER BY q.n, q.tenant_id, q.id) AS next_position FROM (
    SELECT s.*, b.position, b.n
    FROM ${unnest('b', startColumns, 'n')}
    CROSS JOIN LATERAL (
      SELECT s.id, s.tenant_id, s.provider_slug, s.connection_id, s.job_id, s.kind, s.occurred_at,
        s.received_at, s.dedupe_key, s.payload
      FROM :scope.signals s
      WHERE s.batch = ANY (ARRAY[b.batch])
        AND (s.batch, s.tenant_id, s.id) > (b.batch, b.after_tenant_id, b.after_id)
        AND (:connectionId::uuid IS NULL OR s.connection_id = :connectionId)
        AND (:provider::text IS NULL OR s.provider_slug = :provider)
        AND (:kind::text IS NULL OR s.kind = :kind)
      ORDER BY s.batch, s.tenant_id, s.id LIMIT :limit) s
    ORDER BY b.n, s.tenant_id, s.id LIMIT :limit) q`;
const pageCut = { order: 'p.n, p.tenant_id, p.id', above: ':limit', maxBytes: ':maxBytes' } as const;

const signalsOfBatchesSql = sql<FeedRow>`
  SELECT ${signalColumns}, s.position, s.next_position, s.has_more
  FROM ${withinBytes(batchesPage, { ...pageCut, columns: largeColumns })} s ORDER BY s.n, s.tenant_id, s.id`;
const signalsOfBatchesWithPayloadSql = sql<FeedRow>`
  SELECT ${signalColumnsWithPayload}, s.position, s.next_position, s.has_more
  FROM ${withinBytes(batchesPage, { ...pageCut, columns: largeColumnsWithPayload })} s
  ORDER BY s.n, s.tenant_id, s.id`;

export function signalsOfBatches(
  db: Queryable,
  batches: Batch[],
  { within, filter: { connectionId, provider, kind }, limit, payload, maxBytes = maxPageBytes }: FeedPage,
): Promise<FeedRow[]> {
  return (payload ? signalsOfBatchesWithPayloadSql : signalsOfBatchesSql).all(db, {
    b: withStarts(batches, within),
    connectionId,
    provider,
    kind,
    limit: limit + 1,
    maxBytes,
  });
}
