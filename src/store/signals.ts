import { maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

/** Validated; the payload is JSON text. */
export interface NewSignal {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  jobId: string;
  kind: string;
  /** ISO-8601. */
  occurredAt: string;
  payload: string;
  dedupeKey: string | null;
}

/** One feed batch. Returns the number of new signals per job; ON CONFLICT drops duplicates. */
export async function insertSignals(
  tx: Queryable,
  now: Date,
  batch: string,
  signals: NewSignal[],
): Promise<Map<string, number>> {
  const rows = await tx.query<{ job_id: string; stored: number }>(
    `WITH stored AS (
       INSERT INTO ${tx.schema}.signals
         (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key, received_at, created_at, batch)
       SELECT s.*, $1, $1, $11::uuid
       FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::uuid[], $7::text[], $8::timestamptz[], $9::jsonb[], $10::text[])
         AS s (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key)
       ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
       RETURNING job_id
     )
     SELECT job_id, count(*)::int AS stored FROM stored GROUP BY job_id`,
    [
      now,
      signals.map((signal) => signal.id),
      signals.map((signal) => signal.tenantId),
      signals.map((signal) => signal.providerSlug),
      signals.map((signal) => signal.connectionId),
      signals.map((signal) => signal.jobId),
      signals.map((signal) => signal.kind),
      signals.map((signal) => signal.occurredAt),
      signals.map((signal) => signal.payload),
      signals.map((signal) => signal.dedupeKey),
      batch,
    ],
  );
  return new Map(rows.map((row) => [row.job_id, row.stored]));
}

export async function deleteSignals(db: Queryable, connectionId: string, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.signals WHERE id = ANY (ARRAY(
       SELECT id FROM ${db.schema}.signals WHERE connection_id = $1 ORDER BY received_at LIMIT $2))
     RETURNING 1`,
    [connectionId, limit],
  );
  return rows.length;
}

export interface SignalRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  connection_name: string | null;
  job_id: string | null;
  kind: string;
  occurred_at: Date;
  received_at: Date;
  /** JSON text, if requested. */
  payload?: string;
  dedupe_key: string | null;
}

const connectionName = (db: Queryable) =>
  `(SELECT left(c.external_id, ${maxNameLength}) FROM ${db.schema}.connections c WHERE c.id = s.connection_id) AS connection_name`;

export const signalColumns = (db: Queryable, payload: boolean) =>
  `${connectionName(db)}, s.id, s.tenant_id, s.provider_slug, s.connection_id, s.job_id, s.kind, s.occurred_at, s.received_at, s.dedupe_key${payload ? ', s.payload::text AS payload' : ''}`;

/** Columns that count towards the page size. */
export const largeColumns = (payload: boolean) => ['kind', 'dedupe_key', ...(payload ? ['payload'] : [])];

export interface SignalFilter {
  tenantId?: string | undefined;
  connectionId?: string | undefined;
  provider?: string | undefined;
  kind?: string | undefined;
  jobId?: string | undefined;
  /** Id range [from, until); ids are ordered by time. */
  from?: string | undefined;
  until?: string | undefined;
}

/** Index conditions. */
const indexed = `($1::uuid IS NULL OR s.tenant_id = $1) AND ($2::uuid IS NULL OR s.id >= $2)
  AND ($3::uuid IS NULL OR s.id < $3) AND ($4::uuid IS NULL OR s.id < $4)`;
const indexedValues = ({ tenantId, from, until }: SignalFilter, before: string | undefined) => [
  tenantId,
  from,
  until,
  before,
];

interface SignalWalk<Key> {
  before: Key | undefined;
  limit: number;
  payload: boolean;
}

/** Newest first; reads at most `scan` rows. */
export function listSignals(
  db: Queryable,
  filter: SignalFilter,
  { before, limit, payload, scan }: SignalWalk<string> & { scan: number },
): Promise<(SignalRow & Listed)[]> {
  const page = `SELECT * FROM (SELECT * FROM ${db.tables.signals} s WHERE ${indexed} ORDER BY s.id DESC LIMIT $8) s
     WHERE ($5::text IS NULL OR s.provider_slug = $5) AND ($6::text IS NULL OR s.kind = $6) AND ($7::uuid IS NULL OR s.job_id = $7)
     ORDER BY s.id DESC LIMIT $9`;
  const cut = { columns: largeColumns(payload), order: 'p.id DESC', above: '$9' } as const;
  return db.query<SignalRow & Listed>(
    `SELECT ${signalColumns(db, payload)}, s.followed FROM ${withinBytes(page, cut)} s ORDER BY s.id DESC`,
    [...indexedValues(filter, before), filter.provider, filter.kind, filter.jobId, scan, limit],
  );
}

/** The last row scanned; undefined at the end. */
export async function lastSignalListed(
  db: Queryable,
  filter: SignalFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `SELECT s.id FROM ${db.tables.signals} s WHERE ${indexed} ORDER BY s.id DESC OFFSET $5 LIMIT 1`,
    [...indexedValues(filter, before), scan - 1],
  );
  return row?.id;
}

export interface ReceivedKey {
  received: string;
  id: string;
}

/** Newest first; reads at most `scan` rows. */
export function listReceived(
  db: Queryable,
  connectionId: string,
  { tenantId, kind, provider, jobId, from, until }: SignalFilter,
  { before, limit, payload, scan }: SignalWalk<ReceivedKey> & { scan: number },
): Promise<(SignalRow & ReceivedKey & Listed)[]> {
  const page = `SELECT * FROM (SELECT * FROM ${db.tables.signals} s WHERE ${receivedBefore} ORDER BY ${receivedOrder} LIMIT $9) s
     WHERE ($4::text IS NULL OR s.kind = $4) AND ($5::text IS NULL OR s.provider_slug = $5) AND ($6::uuid IS NULL OR s.job_id = $6)
       AND ($7::uuid IS NULL OR s.id >= $7) AND ($8::uuid IS NULL OR s.id < $8) AND ($11::uuid IS NULL OR s.tenant_id = $11)
     ORDER BY ${receivedOrder} LIMIT $10`;
  const order = 'p.received_at DESC, p.id DESC';
  const cut = { columns: largeColumns(payload), order, above: '$10' } as const;
  return db.query<SignalRow & ReceivedKey & Listed>(
    `SELECT ${signalColumns(db, payload)}, s.received_at::text AS received, s.followed
     FROM ${withinBytes(page, cut)} s ORDER BY ${receivedOrder}`,
    [connectionId, before?.received, before?.id, kind, provider, jobId, from, until, scan, limit, tenantId],
  );
}

const receivedBefore = `s.connection_id = $1 AND ($2::timestamptz IS NULL OR s.received_at <= $2)
  AND ($2::timestamptz IS NULL OR (s.received_at, s.id) < ($2, $3::uuid))`;
const receivedOrder = 's.received_at DESC, s.id DESC';

/** The last row scanned; undefined at the end. */
export async function lastReceivedListed(
  db: Queryable,
  connectionId: string,
  { before, scan }: { before: ReceivedKey | undefined; scan: number },
): Promise<ReceivedKey | undefined> {
  const [row] = await db.query<ReceivedKey>(
    `SELECT s.id, s.received_at::text AS received FROM ${db.tables.signals} s
     WHERE ${receivedBefore} ORDER BY ${receivedOrder} OFFSET $4 LIMIT 1`,
    [connectionId, before?.received, before?.id, scan - 1],
  );
  return row;
}

export async function findSignal(db: Queryable, id: string): Promise<SignalRow | undefined> {
  const [row] = await db.query<SignalRow>(
    `SELECT ${signalColumns(db, true)} FROM ${db.tables.signals} s WHERE s.id = $1`,
    [id],
  );
  return row;
}
