import type { Queryable } from './database.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

export type EventKind =
  | `connection.${'created' | 'paused' | 'resumed' | 'activated' | 'interval_changed' | 'schedule_repaired' | 'config_changed' | 'rewound' | 'deletion_started' | 'deleted' | 'triggered' | 'needs_auth' | 'credential_changed' | 'authorization_requested'}`
  | `credential.${'created' | 'replaced' | 'deleted' | 'refused' | 'authorized'}`
  | `job.${'cancelled' | 'retried' | 'poisoned'}`
  | 'tenant.created'
  | 'provider.registered'
  | `key.${'created' | 'revoked' | 'refused'}`
  | `session.${'opened' | 'closed' | 'refused'}`
  | `webhook.${'created' | 'deleted'}`
  | `consumer.${'moved' | 'deleted'}`;

/** An audit log entry. */
export interface NewEvent {
  id: string;
  tenantId: string | null;
  connectionId: string | null;
  jobId: string | null;
  kind: EventKind;
  actor: string;
  keyId: string | null;
  reason: string | null;
  /** Such as the previous cursor. */
  detail: object | null;
}

export async function insertEvents(tx: Queryable, now: Date, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.query(
    `INSERT INTO ${tx.schema}.events (id, tenant_id, connection_id, job_id, kind, actor, key_id, reason, detail, created_at)
     SELECT e.*, $1 FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::jsonb[]) e`,
    [
      now,
      events.map((event) => event.id),
      events.map((event) => event.tenantId),
      events.map((event) => event.connectionId),
      events.map((event) => event.jobId),
      events.map((event) => event.kind),
      events.map((event) => event.actor),
      events.map((event) => event.keyId),
      events.map((event) => event.reason),
      events.map((event) => event.detail && JSON.stringify(event.detail)),
    ],
  );
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

export function latestEvents(db: Queryable, connectionId: string, limit: number): Promise<EventRow[]> {
  return db.query<EventRow>(
    `SELECT ${eventColumns} FROM ${db.tables.events} e
     WHERE connection_id = $1 ORDER BY id DESC LIMIT $2`,
    [connectionId, limit],
  );
}

export async function deleteEvents(db: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await db.query(
    `DELETE FROM ${db.schema}.events
     WHERE id = ANY (ARRAY(
       SELECT id FROM ${db.schema}.events WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
    [cutoff, limit],
  );
  return rows.length;
}

export interface EventFilter {
  tenantId?: string | undefined;
  connectionId?: string | undefined;
  keyId?: string | undefined;
  kind?: string | undefined;
}

/** Newest first; reads at most `scan` rows. */
export function listEvents(
  db: Queryable,
  { tenantId, connectionId, keyId, kind }: EventFilter,
  { before, limit, scan }: { before: string | undefined; limit: number; scan: number },
): Promise<(EventWithDetail & Listed)[]> {
  const page = `SELECT * FROM (SELECT * FROM ${db.tables.events} e WHERE ${indexed} ORDER BY e.id DESC LIMIT $6) e
     WHERE ($5::text IS NULL OR e.kind = $5) ORDER BY e.id DESC LIMIT $7`;
  const cut = { columns: ['detail', 'actor', 'reason'], order: 'p.id DESC', above: '$7' } as const;
  return db.query<EventWithDetail & Listed>(
    `SELECT ${eventColumns}, detail::text AS detail, followed FROM ${withinBytes(page, cut)} e ORDER BY id DESC`,
    [tenantId, connectionId, before, keyId, kind, scan, limit],
  );
}

const indexed = `($1::uuid IS NULL OR e.tenant_id = $1) AND ($2::uuid IS NULL OR e.connection_id = $2) AND ($3::uuid IS NULL OR e.id < $3)
  AND ($4::uuid IS NULL OR e.key_id = $4)`;

/** The last row scanned; undefined at the end. */
export async function lastEventListed(
  db: Queryable,
  { tenantId, connectionId, keyId }: EventFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `SELECT e.id FROM ${db.tables.events} e WHERE ${indexed} ORDER BY e.id DESC OFFSET $5 LIMIT 1`,
    [tenantId, connectionId, before, keyId, scan - 1],
  );
  return row?.id;
}
