import { notFound, providerNotFound } from '../values/arguments.ts';
import { maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { violatedConstraint } from './database-errors.ts';
import { indexLookup } from './plans.ts';

/** Locked until the transaction ends. Sync fields are JSON text, truncated. */
export interface DueRow {
  id: string;
  due_at: string;
  is_overdue: boolean;
  tenant_id: string;
  provider_slug: string;
  created_ms: number;
  last_ended_ms: number | null;
  metadata_type: string | null;
  sync_type: string | null;
  interval_seconds: string | null;
  next_run_at: string | null;
  first_activated_at: string | null;
  last_jitter_seconds: string | null;
}

/** An invalid value may be a megabyte. */
const fieldLength = 80;
const syncField = (name: string) => `left((metadata #> '{sync,${name}}')::text, ${fieldLength}) AS ${name}`;
const epochMs = (column: string) => `extract(epoch FROM ${column})::float8 * 1000`;

export type DuePosition = Pick<DueRow, 'due_at' | 'id'>;

/**
 * SCH-1, SCH-2. NO KEY UPDATE, so that job inserts (foreign key) do not wait; other schedulers skip locked
 * rows.
 */
export function lockDue(
  tx: Queryable,
  {
    now,
    horizon,
    after,
    limit,
  }: { now: Date; horizon: Date; after?: DuePosition | undefined; limit: number },
): Promise<DueRow[]> {
  return tx.query<DueRow>(
    `SELECT id, due_at::text, due_at <= $5 AS is_overdue, tenant_id, provider_slug,
       ${epochMs('created_at')} AS created_ms, ${epochMs('last_incremental_ended_at')} AS last_ended_ms,
       jsonb_typeof(metadata) AS metadata_type, jsonb_typeof(metadata -> 'sync') AS sync_type,
       ${['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds'].map(syncField).join(', ')}
     FROM ${tx.schema}.connections c
     WHERE status = 'active' AND NOT waits_for_job AND due_at <= $1
       AND ($2::timestamptz IS NULL OR (due_at, id) > ($2, $3::uuid))
     ORDER BY c.due_at, c.id
     LIMIT $4
     FOR NO KEY UPDATE SKIP LOCKED`,
    [horizon, after?.due_at, after?.id, limit, now],
  );
}

/** SCH-10: overdue connections without a pending job. */
export async function countOverdue(db: Queryable, now: Date): Promise<number> {
  const [row] = await db.query<{ overdue: number }>(
    `SELECT count(*)::int AS overdue
     FROM ${db.schema}.connections c
     WHERE status = 'active' AND NOT waits_for_job AND due_at <= $1
       AND (
         SELECT j.id FROM ${db.schema}.sync_jobs j
         WHERE j.connection_id = c.id AND j.job_type = 'incremental' AND j.status IN ('queued', 'running')
         LIMIT 1) IS NULL`,
    [now],
  );
  return row?.overdue ?? 0;
}

export interface SyncPatch {
  connectionId: string;
  /** Keys of metadata.sync to set, as JSON text. */
  patch: string;
  waitsForJob: boolean;
}

/** Clamps a future `last_incremental_ended_at`, which otherwise only moves forward. */
export async function patchSyncs(tx: Queryable, now: Date, patches: SyncPatch[]): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.connections c
     SET metadata = ${tx.schema}.patch_sync(c.metadata, p.patch), waits_for_job = p.waits, updated_at = $1,
         last_incremental_ended_at = CASE WHEN c.last_incremental_ended_at > $1 THEN $1 ELSE c.last_incremental_ended_at END
     FROM unnest($2::uuid[], $3::jsonb[], $4::boolean[]) AS p (id, patch, waits)
     WHERE ${indexLookup('c.id', 'p.id')}`,
    [now, patches.map((p) => p.connectionId), patches.map((p) => p.patch), patches.map((p) => p.waitsForJob)],
  );
}

/** Removes connections from the due index until their pending job ends. */
export async function setWaiting(tx: Queryable, ids: string[]): Promise<void> {
  await tx.query(`UPDATE ${tx.schema}.connections SET waits_for_job = true WHERE id = ANY ($1::uuid[])`, [
    ids,
  ]);
}

export type ConnectionStatus = 'active' | 'paused' | 'needs_auth' | 'disabled';

export interface ConnectionRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  external_id: string | null;
  credential_id: string | null;
  status: ConnectionStatus;
  metadata: unknown;
  config: unknown;
  created_at: Date;
  updated_at: Date;
  last_incremental_ended_at: Date | null;
  failing_since: Date | null;
  failure: string | null;
  deleting_since: Date | null;
  tenant_name: string | null;
  provider_name: string | null;
  /** Earliest start of its pending jobs. */
  pending_at: Date | null;
}

const ownColumns = `c.id, c.tenant_id, c.provider_slug, c.external_id, c.credential_id, c.status, c.metadata, c.config,
  c.created_at, c.updated_at, c.last_incremental_ended_at, c.failing_since, c.failure, c.deleting_since`;

export const connectionColumns = (db: Queryable) => `${ownColumns},
  (SELECT left(t.name, ${maxNameLength}) FROM ${db.schema}.tenants t WHERE t.id = c.tenant_id) AS tenant_name,
  (SELECT left(p.display_name, ${maxNameLength}) FROM ${db.schema}.providers p WHERE p.slug = c.provider_slug) AS provider_name,
  (SELECT min(greatest(j.scheduled_at, j.retry_after)) FROM ${db.schema}.sync_jobs j
   WHERE j.connection_id = c.id AND j.status IN ('queued', 'running')) AS pending_at`;

export async function findConnection(db: Queryable, id: string): Promise<ConnectionRow | undefined> {
  const [row] = await db.query<ConnectionRow>(
    `SELECT ${connectionColumns(db)} FROM ${db.tables.connections} c WHERE c.id = $1`,
    [id],
  );
  return row;
}

export type LockedConnection = Omit<ConnectionRow, 'tenant_name' | 'provider_name' | 'pending_at'>;

export async function lockConnection(tx: Queryable, id: string): Promise<LockedConnection | undefined> {
  const [row] = await tx.query<LockedConnection>(
    `SELECT ${ownColumns} FROM ${tx.tables.connections} c WHERE c.id = $1 FOR NO KEY UPDATE OF c`,
    [id],
  );
  return row;
}

/** Columns that a new job copies. */
export type Owner = Pick<ConnectionRow, 'id' | 'tenant_id' | 'provider_slug'>;

/** Lock order: by id. */
export async function lockActive(
  tx: Queryable,
  ids: readonly string[],
  locking: 'skip' | 'wait',
): Promise<{ active: Map<string, Owner>; locked: ReadonlySet<string> }> {
  const rows = await tx.query<Owner & { status: ConnectionStatus }>(
    `SELECT c.id, c.tenant_id, c.provider_slug, c.status FROM ${tx.schema}.connections c
     WHERE c.id = ANY ($1::uuid[]) ORDER BY c.id FOR NO KEY UPDATE OF c ${locking === 'skip' ? 'SKIP LOCKED' : ''}`,
    [ids],
  );
  const active = rows.filter(({ status }) => status === 'active');
  return {
    active: new Map(active.map((row) => [row.id, row])),
    // With `wait`, a missing row was deleted.
    locked: new Set(locking === 'skip' ? rows.map(({ id }) => id) : ids),
  };
}

export interface NewConnection {
  id: string;
  tenantId: string;
  provider: string;
  externalId: string | null;
  credentialId: string | null;
  metadata: object;
  config: object;
  status: ConnectionStatus;
}

export async function insertConnection(db: Queryable, now: Date, connection: NewConnection): Promise<void> {
  const { id, tenantId, provider, externalId, credentialId, status, metadata, config } = connection;
  const inserted = await db
    .query(
      `INSERT INTO ${db.schema}.connections
         (id, tenant_id, provider_slug, external_id, status, metadata, config, created_at, updated_at, credential_id)
       SELECT $1, t.id, $3, $4, $5, $6, $7, $8, $8, $9 FROM ${db.tables.tenants} t WHERE t.id = $2
       RETURNING 1`,
      [
        id,
        tenantId,
        provider,
        externalId,
        status,
        JSON.stringify(metadata),
        JSON.stringify(config),
        now,
        credentialId,
      ],
    )
    .catch((error: unknown) => {
      if (violatedConstraint(error) === 'connections_provider_slug_fkey') throw providerNotFound(provider);
      throw error;
    });
  if (inserted.length === 0) throw notFound(`tenant ${tenantId}`, 'Create it first.');
}

/** null or undefined removes the cursor. */
export async function writeCursor(tx: Queryable, now: Date, id: string, cursor: unknown): Promise<void> {
  const isSet = cursor !== undefined && cursor !== null;
  await tx.query(
    `UPDATE ${tx.schema}.connections
     SET metadata = CASE WHEN $2 THEN ${tx.schema}.patch_sync(metadata, jsonb_build_object('cursor', $3::jsonb))
           WHEN jsonb_typeof(metadata -> 'sync') = 'object' THEN metadata #- '{sync,cursor}' ELSE metadata END, updated_at = $4
     WHERE id = $1`,
    [id, isSet, isSet ? JSON.stringify(cursor) : null, now],
  );
}

/** Cascades to jobs and signals. */
export async function deleteConnection(tx: Queryable, id: string): Promise<void> {
  await tx.query(`DELETE FROM ${tx.schema}.connections WHERE id = $1`, [id]);
}

/** Other keys of metadata.sync stay. */
export async function writeSync(
  tx: Queryable,
  now: Date,
  id: string,
  keys: Record<string, unknown>,
  removedKey?: string,
): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.connections
     SET metadata = ${tx.schema}.patch_sync(metadata, $2) #- $3::text[], waits_for_job = false, updated_at = $4
     WHERE id = $1`,
    [id, JSON.stringify(keys), removedKey === undefined ? [] : ['sync', removedKey], now],
  );
}

/** Sets `first_activated_at` only if missing or unparsable. */
export async function activateConnections(
  db: Queryable,
  now: Date,
  ids: readonly string[],
  firstActivatedAt: string,
): Promise<void> {
  await db.query(
    `UPDATE ${db.schema}.connections
     SET status = 'active', updated_at = $2, failing_since = NULL, failure = NULL,
         metadata = CASE WHEN ${db.schema}.parse_instant(metadata #>> '{sync,first_activated_at}') IS NULL
           THEN ${db.schema}.patch_sync(metadata, jsonb_build_object('first_activated_at', $3::text))
           ELSE metadata END
     WHERE id = ANY ($1::uuid[])`,
    [ids, now, firstActivatedAt],
  );
}

/** Returns the connections that were in `from`. */
export async function setConnectionStatus(
  tx: Queryable,
  now: Date,
  ids: string[],
  from: ConnectionStatus,
  to: ConnectionStatus,
): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `UPDATE ${tx.schema}.connections SET status = $4, updated_at = $1
     WHERE id = ANY ($2::uuid[]) AND status = $3
     RETURNING id`,
    [now, ids, from, to],
  );
  return new Set(rows.map((row) => row.id));
}

export type ConnectionHealth = 'ok' | 'failing' | Exclude<ConnectionStatus, 'active'>;

export async function writeConfig(
  tx: Queryable,
  now: Date,
  id: string,
  config: Record<string, unknown>,
): Promise<void> {
  await tx.query(`UPDATE ${tx.schema}.connections SET config = $3, updated_at = $2 WHERE id = $1`, [
    id,
    now,
    JSON.stringify(config),
  ]);
}
