import type { Queryable } from './database.ts';
import { everybody } from './scope.ts';
import { connectionName, type SignalFilter, type SignalRow } from './signals.ts';

/** The signals of one transaction, at its place in the order of commits. */
export interface Batch {
  position: number;
  batch: string;
}

export interface FeedLook {
  /** From the position asked for on, in order; positions may be missing in between. */
  batches: Batch[];
  /** Every transaction below this has ended, and if it committed, can be seen. */
  allEndedBelow: bigint;
  /** Every transaction that had begun when this was read is below this. */
  begunBelow: bigint;
  /** Up to here the feed has been deleted. */
  start: number;
}

/**
 * Reads what can be seen and what it can be known of what cannot, in one statement: both belong to one moment.
 *
 * A snapshot's xmax is one past the last transaction that has *ended*; those that have begun since are not below it. `age`
 * counts on from there to the next transaction that will begin.
 */
export async function lookAtFeed(db: Queryable, from: number, limit: number): Promise<FeedLook> {
  const rows = await db.query<{
    xmin: string;
    next: string;
    start: number;
    position: number | null;
    batch: string;
  }>(
    `SELECT pg_snapshot_xmin(now.snapshot)::text AS xmin,
       (pg_snapshot_xmax(now.snapshot)::text::bigint + age(pg_snapshot_xmax(now.snapshot)::xid))::text AS next,
       (SELECT s.position FROM ${db.schema}.feed_start s)::float8 AS start, f.position::float8, f.batch
     FROM (SELECT pg_current_snapshot() AS snapshot) now
     LEFT JOIN LATERAL (
       SELECT position, batch FROM ${db.schema}.feed WHERE position IS NOT NULL AND position >= $1
       ORDER BY position LIMIT $2) f ON true
     ORDER BY f.position`,
    [from, limit],
  );
  const [first] = rows;
  return {
    batches: rows.flatMap(({ position, batch }) => (position === null ? [] : [{ position, batch }])),
    allEndedBelow: BigInt(first?.xmin ?? 0),
    begunBelow: BigInt(first?.next ?? 0),
    start: first?.start ?? 0,
  };
}

/** The position of one of the last batches that can be seen, counted from the end; undefined if there are fewer. */
export async function positionFromEnd(db: Queryable, count: number): Promise<number | undefined> {
  const [row] = await db.query<{ position: number }>(
    `SELECT position::float8 FROM ${db.schema}.feed WHERE position IS NOT NULL ORDER BY position DESC OFFSET $1 LIMIT 1`,
    [count - 1],
  );
  return row?.position;
}

/** The last position that was given to anybody, committed or not: what has it may not be there yet. */
export async function lastPosition(db: Queryable): Promise<number> {
  const [row] = await db.query<{ position: number }>(
    `SELECT CASE WHEN is_called THEN last_value ELSE 0 END::float8 AS position FROM ${db.schema}.feed_position`,
  );
  return row?.position ?? 0;
}

/** Up to here the feed has been deleted. */
export async function startOfFeed(db: Queryable): Promise<number> {
  const [row] = await db.query<{ position: number }>(`SELECT position::float8 FROM ${db.schema}.feed_start`);
  return row?.position ?? 0;
}

export interface FeedRow extends SignalRow {
  position: number;
}

/** A place within a batch. */
export interface WithinBatch {
  tenantId: string;
  id: string;
}

/** A place in the feed: behind everything up to a position, or within the batch at that position. */
export interface FeedPlace {
  position: number;
  within?: WithinBatch | undefined;
}

/**
 * The places that batches are read from, tenants and ids: in the first one after a place, in others from the beginning. As values
 * for an index, not as a condition that may hold or not: that would pass all of a batch to find the place in it.
 */
export function beginnings(batches: Batch[], within: WithinBatch | undefined): [string[], string[]] {
  const places = batches.map((_, i) => (i === 0 && within) || beforeAll);
  return [places.map(({ tenantId }) => tenantId), places.map(({ id }) => id)];
}

/** No signal is of that tenant. */
const beforeAll: WithinBatch = { tenantId: everybody, id: everybody };

/** The signals of these batches in order, of the first one those after a place in it. */
export function signalsOfBatches(
  db: Queryable,
  batches: Batch[],
  {
    within,
    filter: { connectionId, provider, kind },
    limit,
  }: { within: WithinBatch | undefined; filter: SignalFilter; limit: number },
): Promise<FeedRow[]> {
  return db.query<FeedRow>(
    `SELECT s.*, ${connectionName(db)}, b.position
     FROM unnest($1::uuid[], $2::float8[], $3::uuid[], $4::uuid[]) WITH ORDINALITY AS b (batch, position, after_tenant_id, after_id, n)
     CROSS JOIN LATERAL (
       SELECT s.id, s.tenant_id, s.provider_slug, s.connection_id, s.job_id, s.kind, s.occurred_at, s.received_at, s.dedupe_key, s.payload
       FROM ${db.tables.signals} s
       WHERE s.batch = b.batch AND (s.tenant_id, s.id) > (b.after_tenant_id, b.after_id)
         AND ($5::uuid IS NULL OR s.connection_id = $5) AND ($6::text IS NULL OR s.provider_slug = $6) AND ($7::text IS NULL OR s.kind = $7)
       ORDER BY s.tenant_id, s.id LIMIT $8) s
     ORDER BY b.n, s.tenant_id, s.id LIMIT $8`,
    [
      batches.map((one) => one.batch),
      batches.map((one) => one.position),
      ...beginnings(batches, within),
      connectionId,
      provider,
      kind,
      limit,
    ],
  );
}
