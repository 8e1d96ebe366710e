import { maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { prepared, sql, unnest } from './sql.ts';

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

const insertSignalsSql = prepared<{ job_id: string; stored: number }>`
  WITH stored AS (
    INSERT INTO :schema.signals
      (id, tenant_id, provider_slug, connection_id, job_id, kind, occurred_at, payload, dedupe_key,
       received_at, created_at, batch)
    SELECT s.*, :now, :now, :batch::uuid
    FROM ${unnest('s', {
      id: 'uuid',
      tenantId: 'uuid',
      providerSlug: 'text',
      connectionId: 'uuid',
      jobId: 'uuid',
      kind: 'text',
      occurredAt: 'timestamptz',
      payload: 'jsonb',
      dedupeKey: 'text',
    })}
    ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING
    RETURNING job_id
  )
  SELECT job_id, count(*)::int AS stored FROM stored GROUP BY job_id`;

/** One feed batch. Returns new signals per job. */
export async function insertSignals(
  tx: Queryable,
  now: Date,
  batch: string,
  signals: NewSignal[],
): Promise<Map<string, number>> {
  const rows = await insertSignalsSql.all(tx, { now, batch, s: signals });
  return new Map(rows.map((row) => [row.job_id, row.stored]));
}

const deleteOfConnectionSql = sql<object>`
  DELETE FROM :schema.signals WHERE id = ANY (ARRAY(
    SELECT id FROM :schema.signals WHERE connection_id = :connectionId ORDER BY received_at LIMIT :limit))
  RETURNING 1`;

export async function deleteSignalsOfConnection(
  db: Queryable,
  connectionId: string,
  limit: number,
): Promise<number> {
  const rows = await deleteOfConnectionSql.all(db, { connectionId, limit });
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

export const signalColumns = `
  (SELECT left(c.external_id, ${maxNameLength}) FROM :schema.connections c
   WHERE c.id = s.connection_id) AS connection_name,
  s.id, s.tenant_id, s.provider_slug, s.connection_id, s.job_id, s.kind, s.occurred_at, s.received_at,
  s.dedupe_key`;
export const signalColumnsWithPayload = `${signalColumns}, s.payload::text AS payload`;

export const largeColumns = ['kind', 'dedupe_key'];
export const largeColumnsWithPayload = [...largeColumns, 'payload'];

export interface SignalFilter {
  tenantId?: string | undefined;
  connectionId?: string | undefined;
  provider?: string | undefined;
  kind?: string | undefined;
  jobId?: string | undefined;
  /** Id range [from, until), ordered by time. */
  from?: string | undefined;
  until?: string | undefined;
}

const indexed = `(:tenantId::uuid IS NULL OR s.tenant_id = :tenantId)
  AND (:from::uuid IS NULL OR s.id >= :from)
  AND (:until::uuid IS NULL OR s.id < :until) AND (:before::uuid IS NULL OR s.id < :before)`;

interface SignalWalk<Key> {
  before: Key | undefined;
  limit: number;
  payload: boolean;
}

const signalsPage = `
  SELECT * FROM (SELECT * FROM :scope.signals s WHERE ${indexed} ORDER BY s.id DESC LIMIT :scan) s
  WHERE (:provider::text IS NULL OR s.provider_slug = :provider) AND (:kind::text IS NULL OR s.kind = :kind)
    AND (:jobId::uuid IS NULL OR s.job_id = :jobId)
  ORDER BY s.id DESC LIMIT :limit`;
const signalsCut = { order: 'p.id DESC', above: ':limit' } as const;

const listSignalsSql = sql<SignalRow & Listed>`
  SELECT ${signalColumns}, s.has_more
  FROM ${withinBytes(signalsPage, { ...signalsCut, columns: largeColumns })} s ORDER BY s.id DESC`;
const listSignalsWithPayloadSql = sql<SignalRow & Listed>`
  SELECT ${signalColumnsWithPayload}, s.has_more
  FROM ${withinBytes(signalsPage, { ...signalsCut, columns: largeColumnsWithPayload })} s ORDER BY s.id DESC`;

export function listSignals(
  db: Queryable,
  { tenantId, from, until, provider, kind, jobId }: SignalFilter,
  { before, limit, payload, scan }: SignalWalk<string> & { scan: number },
): Promise<(SignalRow & Listed)[]> {
  const values = { tenantId, from, until, before, provider, kind, jobId, scan, limit };
  return (payload ? listSignalsWithPayloadSql : listSignalsSql).all(db, values);
}

const lastSignalListedSql = sql<{ id: string }>`
  SELECT s.id FROM :scope.signals s WHERE ${indexed} ORDER BY s.id DESC OFFSET :offset LIMIT 1`;

export async function lastSignalListed(
  db: Queryable,
  { tenantId, from, until }: SignalFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const row = await lastSignalListedSql.first(db, { tenantId, from, until, before, offset: scan - 1 });
  return row?.id;
}

export interface ReceivedKey {
  received: string;
  id: string;
}

const receivedBefore = `s.connection_id = :connectionId
  AND (:beforeReceived::timestamptz IS NULL OR s.received_at <= :beforeReceived)
  AND (:beforeReceived::timestamptz IS NULL
    OR (s.received_at, s.id) < (:beforeReceived, :beforeId::uuid))`;

const receivedPage = `
  SELECT * FROM (
    SELECT * FROM :scope.signals s WHERE ${receivedBefore}
    ORDER BY s.received_at DESC, s.id DESC LIMIT :scan) s
  WHERE (:kind::text IS NULL OR s.kind = :kind) AND (:provider::text IS NULL OR s.provider_slug = :provider)
    AND (:jobId::uuid IS NULL OR s.job_id = :jobId) AND (:from::uuid IS NULL OR s.id >= :from)
    AND (:until::uuid IS NULL OR s.id < :until) AND (:tenantId::uuid IS NULL OR s.tenant_id = :tenantId)
  ORDER BY s.received_at DESC, s.id DESC LIMIT :limit`;
const receivedCut = { order: 'p.received_at DESC, p.id DESC', above: ':limit' } as const;

const listReceivedSql = sql<SignalRow & ReceivedKey & Listed>`
  SELECT ${signalColumns}, s.received_at::text AS received, s.has_more
  FROM ${withinBytes(receivedPage, { ...receivedCut, columns: largeColumns })} s
  ORDER BY s.received_at DESC, s.id DESC`;
const listReceivedWithPayloadSql = sql<SignalRow & ReceivedKey & Listed>`
  SELECT ${signalColumnsWithPayload}, s.received_at::text AS received, s.has_more
  FROM ${withinBytes(receivedPage, { ...receivedCut, columns: largeColumnsWithPayload })} s
  ORDER BY s.received_at DESC, s.id DESC`;

export function listReceived(
  db: Queryable,
  connectionId: string,
  { tenantId, kind, provider, jobId, from, until }: SignalFilter,
  { before, limit, payload, scan }: SignalWalk<ReceivedKey> & { scan: number },
): Promise<(SignalRow & ReceivedKey & Listed)[]> {
  return (payload ? listReceivedWithPayloadSql : listReceivedSql).all(db, {
    connectionId,
    beforeReceived: before?.received,
    beforeId: before?.id,
    kind,
    provider,
    jobId,
    from,
    until,
    tenantId,
    scan,
    limit,
  });
}

const lastReceivedListedSql = sql<ReceivedKey>`
  SELECT s.id, s.received_at::text AS received FROM :scope.signals s
  WHERE ${receivedBefore} ORDER BY s.received_at DESC, s.id DESC OFFSET :offset LIMIT 1`;

export function lastReceivedListed(
  db: Queryable,
  connectionId: string,
  { before, scan }: { before: ReceivedKey | undefined; scan: number },
): Promise<ReceivedKey | undefined> {
  return lastReceivedListedSql.first(db, {
    connectionId,
    beforeReceived: before?.received,
    beforeId: before?.id,
    offset: scan - 1,
  });
}

const findSignalSql = prepared<SignalRow>`
  SELECT ${signalColumnsWithPayload} FROM :scope.signals s WHERE s.id = :id`;

export function findSignal(db: Queryable, id: string): Promise<SignalRow | undefined> {
  return findSignalSql.first(db, { id });
}
