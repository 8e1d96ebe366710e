import type { EventKind } from '../contract/states.ts';
import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { prepared, sql, unnest } from './sql.ts';

export interface NewEvent {
  id: string;
  tenantId: string | null;
  connectionId: string | null;
  jobId: string | null;
  kind: EventKind;
  actor: string;
  keyId: string | null;
  reason: string | null;
  detail: object | null;
}

const insertEventsSql = prepared<object>`
  INSERT INTO :schema.events
    (id, tenant_id, connection_id, job_id, kind, actor, key_id, reason, detail, created_at)
  SELECT e.*, :now
  FROM ${unnest('e', {
    id: 'uuid',
    tenantId: 'uuid',
    connectionId: 'uuid',
    jobId: 'uuid',
    kind: 'text',
    actor: 'text',
    keyId: 'uuid',
    reason: 'text',
    detail: 'jsonb',
  })}`;

export async function insertEvents(tx: Queryable, now: Date, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await insertEventsSql.all(tx, {
    now,
    e: events.map((event) => ({ ...event, detail: event.detail && JSON.stringify(event.detail) })),
  });
}

export interface EventRow {
  id: string;
  tenant_id: string | null;
  connection_id: string | null;
  job_id: string | null;
  kind: EventKind;
  actor: string;
  key_id: string | null;
  reason: string | null;
  created_at: Date;
}

/** `detail` is JSON text. */
export interface EventWithDetail extends EventRow {
  detail: string | null;
}

const eventColumns = 'id, tenant_id, connection_id, job_id, kind, actor, key_id, reason, created_at';

const latestEventsSql = sql<EventRow>`
  SELECT ${eventColumns} FROM :scope.events e
  WHERE connection_id = :connectionId ORDER BY id DESC LIMIT :limit`;

export function latestEvents(db: Queryable, connectionId: string, limit: number): Promise<EventRow[]> {
  return latestEventsSql.all(db, { connectionId, limit });
}

const deleteEventsSql = sql<object>`
  DELETE FROM :schema.events
  WHERE id = ANY (ARRAY(
    SELECT id FROM :schema.events WHERE created_at < :cutoff ORDER BY created_at LIMIT :limit
    FOR UPDATE SKIP LOCKED))
  RETURNING 1`;

export async function deleteEvents(db: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await deleteEventsSql.all(db, { cutoff, limit });
  return rows.length;
}

export interface EventFilter {
  tenantId?: string | undefined;
  connectionId?: string | undefined;
  keyId?: string | undefined;
  kind?: string | undefined;
}

const indexed = `(:tenantId::uuid IS NULL OR e.tenant_id = :tenantId)
  AND (:connectionId::uuid IS NULL OR e.connection_id = :connectionId)
  AND (:before::uuid IS NULL OR e.id < :before) AND (:keyId::uuid IS NULL OR e.key_id = :keyId)`;

const eventsPage = withinBytes(
  `SELECT * FROM (SELECT * FROM :scope.events e WHERE ${indexed} ORDER BY e.id DESC LIMIT :scan) e
   WHERE (:kind::text IS NULL OR e.kind = :kind) ORDER BY e.id DESC LIMIT :limit`,
  { columns: ['detail', 'actor', 'reason'], order: 'p.id DESC', above: ':limit' },
);
const listEventsSql = sql<EventWithDetail & Listed>`
  SELECT ${eventColumns}, detail::text AS detail, has_more FROM ${eventsPage} e ORDER BY id DESC`;

export function listEvents(
  db: Queryable,
  { tenantId, connectionId, keyId, kind }: EventFilter,
  { before, limit, scan }: { before: string | undefined; limit: number; scan: number },
): Promise<(EventWithDetail & Listed)[]> {
  return listEventsSql.all(db, { tenantId, connectionId, before, keyId, kind, scan, limit });
}

const lastEventListedSql = sql<{ id: string }>`
  SELECT e.id FROM :scope.events e WHERE ${indexed} ORDER BY e.id DESC OFFSET :offset LIMIT 1`;

export async function lastEventListed(
  db: Queryable,
  { tenantId, connectionId, keyId }: EventFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const row = await lastEventListedSql.first(db, { tenantId, connectionId, before, keyId, offset: scan - 1 });
  return row?.id;
}
