import type { Queryable } from './database.ts';

export type EventKind = 'paused' | 'resumed' | 'needs_auth' | 'triggered' | 'cancelled' | 'retried';

/** Something done to a connection, by whom, and why. */
export interface NewEvent {
  id: string;
  tenantId: string;
  connectionId: string;
  jobId: string | null;
  kind: EventKind;
  actor: string;
  reason: string | null;
}

export async function insertEvents(tx: Queryable, now: Date, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await tx.query(
    `INSERT INTO ${tx.schema}.events (id, tenant_id, connection_id, job_id, kind, actor, reason, created_at)
     SELECT e.*, $1 FROM unnest($2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[]) e`,
    [
      now,
      events.map((event) => event.id),
      events.map((event) => event.tenantId),
      events.map((event) => event.connectionId),
      events.map((event) => event.jobId),
      events.map((event) => event.kind),
      events.map((event) => event.actor),
      events.map((event) => event.reason),
    ],
  );
}

export interface EventRow {
  kind: EventKind;
  actor: string;
  reason: string | null;
  job_id: string | null;
  created_at: Date;
}

/** What happened to a connection last, newest first. */
export function latestEvents(db: Queryable, connectionId: string, limit: number): Promise<EventRow[]> {
  return db.query<EventRow>(
    `SELECT kind, actor, reason, job_id, created_at FROM ${db.schema}.events
     WHERE connection_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2`,
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
