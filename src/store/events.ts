import type { Queryable } from './database.ts';

export type EventKind =
  | `connection.${'created' | 'paused' | 'resumed' | 'activated' | 'interval_changed' | 'config_changed' | 'rewound' | 'deleted' | 'triggered' | 'needs_auth' | 'credential_changed'}`
  | `credential.${'created' | 'replaced' | 'deleted' | 'refused' | 'authorized'}`
  | `job.${'cancelled' | 'retried'}`
  | 'tenant.created'
  | 'provider.registered'
  | `key.${'created' | 'revoked'}`
  | `webhook.${'created' | 'deleted'}`
  | `consumer.${'moved' | 'deleted'}`;

/** Something that was done, by whom, and why. */
export interface NewEvent {
  id: string;
  tenantId: string | null;
  connectionId: string | null;
  jobId: string | null;
  kind: EventKind;
  actor: string;
  reason: string | null;
  /** What the other fields cannot say, such as the cursor before. */
  detail: object | null;
}

export async function insertEvents(tx: Queryable, now: Date, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.query(
    `INSERT INTO ${tx.schema}.events (id, tenant_id, connection_id, job_id, kind, actor, reason, detail, created_at)
     SELECT e.*, $1 FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::jsonb[]) e`,
    [
      now,
      events.map((event) => event.id),
      events.map((event) => event.tenantId),
      events.map((event) => event.connectionId),
      events.map((event) => event.jobId),
      events.map((event) => event.kind),
      events.map((event) => event.actor),
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
  reason: string | null;
  detail: unknown;
  created_at: Date;
}

const eventColumns = 'id, tenant_id, connection_id, job_id, kind, actor, reason, detail, created_at';

/** What happened to a connection last, newest first. */
export function latestEvents(db: Queryable, connectionId: string, limit: number): Promise<EventRow[]> {
  return db.query<EventRow>(
    `SELECT ${eventColumns} FROM ${db.tables.events} e
     WHERE connection_id = $1 ORDER BY id DESC LIMIT $2`,
    [connectionId, limit],
  );
}

/** Deletes some of the events from before `cutoff`, oldest first, and returns how many. */
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
  kind?: string | undefined;
}

/** Events, the newest first, of a bounded number that is looked at. */
export function listEvents(
  db: Queryable,
  { tenantId, connectionId, kind }: EventFilter,
  { before, limit, scan }: { before: string | undefined; limit: number; scan: number },
): Promise<EventRow[]> {
  return db.query<EventRow>(
    `SELECT ${eventColumns} FROM (SELECT * FROM ${db.tables.events} e WHERE ${indexed} ORDER BY e.id DESC LIMIT $5) e
     WHERE ($4::text IS NULL OR e.kind = $4) ORDER BY e.id DESC LIMIT $6`,
    [tenantId, connectionId, before, kind, scan, limit],
  );
}

const indexed = `($1::uuid IS NULL OR e.tenant_id = $1) AND ($2::uuid IS NULL OR e.connection_id = $2) AND ($3::uuid IS NULL OR e.id < $3)`;

/** The last of the events that such a list looked at; undefined if it came to the end. */
export async function lastEventListed(
  db: Queryable,
  { tenantId, connectionId }: EventFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `SELECT e.id FROM ${db.tables.events} e WHERE ${indexed} ORDER BY e.id DESC OFFSET $4 LIMIT 1`,
    [tenantId, connectionId, before, scan - 1],
  );
  return row?.id;
}
