import type { ConnectionStatus } from '../contract/states.ts';
import type { SyncTexts } from '../schedule/sync-metadata.ts';
import { notFound, providerNotFound } from '../values/arguments.ts';
import { maxNameLength, maxScheduleLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { violatedConstraint } from './database-errors.ts';
import { prepared, sql, unnest } from './sql.ts';

/** Locked. */
export interface DueRow extends SyncTexts {
  id: string;
  due_at: string;
  is_overdue: boolean;
  tenant_id: string;
  provider_slug: string;
  created_ms: number;
  last_ended_ms: number | null;
  metadata_type: string | null;
  sync_type: string | null;
  schedule: string | null;
  /** Since schema version 12; before, the column is generated. */
  writes_due_at: boolean;
}

/** An invalid value may be a megabyte. */
const fieldLength = 80;

const syncColumns = ['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds']
  .map((field) => `left((c.metadata #> '{sync,${field}}')::text, ${fieldLength}) AS ${field}`)
  .join(', ');

export type DuePosition = Pick<DueRow, 'due_at' | 'id'>;

const dueConnections = (after: string) => `
  SELECT id, due_at::text, due_at <= :now AS is_overdue, tenant_id, provider_slug,
    extract(epoch FROM created_at)::float8 * 1000 AS created_ms,
    extract(epoch FROM last_incremental_ended_at)::float8 * 1000 AS last_ended_ms,
    jsonb_typeof(metadata) AS metadata_type, jsonb_typeof(metadata -> 'sync') AS sync_type,
    ${syncColumns},
    left(schedule::text, ${maxScheduleLength}) AS schedule,
    -- Until COMMIT, the lock on the table keeps a migration from changing it.
    (SELECT max(version) >= 12 FROM :schema.schema_migrations) AS writes_due_at
  FROM :schema.connections c
  WHERE status = 'active' AND NOT waits_for_job AND due_at <= :horizon ${after}
  ORDER BY c.due_at, c.id
  LIMIT :limit
  FOR NO KEY UPDATE SKIP LOCKED`;
const lockFirstDueSql = prepared<DueRow>`${dueConnections('')}`;
const lockNextDueSql = prepared<DueRow>`${dueConnections(
  'AND (due_at, id) > (:afterDueAt::timestamptz, :afterId::uuid)',
)}`;

/** SCH-1, SCH-2. NO KEY UPDATE does not block KEY SHARE, which job inserts of other writers take. */
export function lockDue(
  tx: Queryable,
  { after, ...limits }: { now: Date; horizon: Date; after?: DuePosition | undefined; limit: number },
): Promise<DueRow[]> {
  return after
    ? lockNextDueSql.all(tx, { ...limits, afterDueAt: after.due_at, afterId: after.id })
    : lockFirstDueSql.all(tx, limits);
}

const countOverdueSql = prepared<{ overdue: number }>`
  SELECT count(*)::int AS overdue
  FROM :schema.connections c
  WHERE status = 'active' AND NOT waits_for_job AND due_at <= :now
    AND (
      SELECT j.id FROM :schema.sync_jobs j
      WHERE j.connection_id = c.id AND j.job_type = 'incremental' AND j.status IN ('queued', 'running')
      LIMIT 1) IS NULL`;

/** SCH-10: without a pending job. */
export async function countOverdue(db: Queryable, now: Date): Promise<number> {
  const row = await countOverdueSql.first(db, { now });
  return row?.overdue ?? 0;
}

export interface SyncPatch {
  connectionId: string;
  /** JSON text of metadata.sync keys. */
  patch: string;
  /** `next_run_at` of the patch, if written. */
  dueAt?: Date;
  waitsForJob: boolean;
  /** Resets an invalid schedule. */
  clearSchedule: boolean;
}

const patched = `metadata = :schema.patch_sync(c.metadata, p.patch), waits_for_job = p.waits_for_job,
      updated_at = :now,
      last_incremental_ended_at = CASE WHEN c.last_incremental_ended_at > :now THEN :now
        ELSE c.last_incremental_ended_at END,
      schedule = CASE WHEN p.clear_schedule THEN NULL ELSE c.schedule END`;
const patchTypes = { connectionId: 'uuid', patch: 'jsonb', waitsForJob: 'boolean', clearSchedule: 'boolean' };

const placeSyncsSql = prepared<object>`
  UPDATE :schema.connections c SET ${patched}, due_at = p.due_at
  FROM ${unnest('p', { ...patchTypes, dueAt: 'timestamptz' })}
  WHERE c.id = ANY (ARRAY[p.connection_id])`;
const patchSyncsSql = prepared<object>`
  UPDATE :schema.connections c SET ${patched}
  FROM ${unnest('p', patchTypes)}
  WHERE c.id = ANY (ARRAY[p.connection_id])`;

/**
 * Clamps a future `last_incremental_ended_at`, which never moves back. Without `writesDueAt`, a trigger
 * derives due_at.
 */
export async function patchSyncs(
  tx: Queryable,
  now: Date,
  patches: SyncPatch[],
  writesDueAt = false,
): Promise<void> {
  await (writesDueAt ? placeSyncsSql : patchSyncsSql).all(tx, { now, p: patches });
}

const setWaitingSql = prepared<object>`
  UPDATE :schema.connections SET waits_for_job = true WHERE id = ANY (:ids::uuid[])`;

/** Removes them from the due index until their job ends. */
export async function setWaiting(tx: Queryable, ids: string[]): Promise<void> {
  await setWaitingSql.all(tx, { ids });
}

export interface ConnectionRow extends SyncTexts {
  id: string;
  tenant_id: string;
  provider_slug: string;
  external_id: string | null;
  credential_id: string | null;
  status: ConnectionStatus;
  /** JSON text. */
  cursor: string | null;
  /** JSON text. */
  config: string;
  /** JSON text, truncated. */
  schedule: string | null;
  created_at: Date;
  updated_at: Date;
  last_incremental_ended_at: Date | null;
  failing_since: Date | null;
  failure: string | null;
  deleting_since: Date | null;
  tenant_name: string | null;
  provider_name: string | null;
  /** Earliest start of pending jobs. */
  pending_at: Date | null;
}

const ownColumns = `c.id, c.tenant_id, c.provider_slug, c.external_id, c.credential_id, c.status,
  ${syncColumns}, (c.metadata #> '{sync,cursor}')::text AS cursor, c.config::text AS config,
  left(c.schedule::text, ${maxScheduleLength}) AS schedule, c.created_at, c.updated_at,
  c.last_incremental_ended_at, c.failing_since, c.failure, c.deleting_since`;

export const connectionColumns = `${ownColumns},
  (SELECT left(t.name, ${maxNameLength}) FROM :schema.tenants t WHERE t.id = c.tenant_id) AS tenant_name,
  (SELECT left(p.display_name, ${maxNameLength}) FROM :schema.providers p
   WHERE p.slug = c.provider_slug) AS provider_name,
  (SELECT greatest(j.scheduled_at, j.retry_after) AS starts_at FROM :schema.sync_jobs j
   WHERE j.connection_id = c.id AND j.status IN ('queued', 'running') ORDER BY starts_at LIMIT 1) AS pending_at`;

const findConnectionSql = prepared<ConnectionRow>`
  SELECT ${connectionColumns} FROM :scope.connections c WHERE c.id = :id`;

export function findConnection(db: Queryable, id: string): Promise<ConnectionRow | undefined> {
  return findConnectionSql.first(db, { id });
}

export type LockedConnection = Omit<ConnectionRow, 'tenant_name' | 'provider_name' | 'pending_at'>;

const lockConnectionSql = prepared<LockedConnection>`
  SELECT ${ownColumns} FROM :scope.connections c WHERE c.id = :id FOR NO KEY UPDATE OF c`;

export function lockConnection(tx: Queryable, id: string): Promise<LockedConnection | undefined> {
  return lockConnectionSql.first(tx, { id });
}

/** Columns that a new job copies. */
export type Owner = Pick<ConnectionRow, 'id' | 'tenant_id' | 'provider_slug'>;

const lockedById = `
  SELECT c.id, c.tenant_id, c.provider_slug, c.status FROM :schema.connections c
  WHERE c.id = ANY (:ids::uuid[]) ORDER BY c.id FOR NO KEY UPDATE OF c`;
const lockActiveSql = {
  wait: sql<Owner & { status: ConnectionStatus }>`${lockedById}`,
  skip: sql<Owner & { status: ConnectionStatus }>`${lockedById} SKIP LOCKED`,
};

/** Lock order: by id. */
export async function lockActive(
  tx: Queryable,
  ids: readonly string[],
  locking: 'skip' | 'wait',
): Promise<{ active: Map<string, Owner>; locked: ReadonlySet<string> }> {
  const rows = await lockActiveSql[locking].all(tx, { ids });
  const active = rows.filter(({ status }) => status === 'active');
  return {
    active: new Map(active.map((row) => [row.id, row])),
    // With `wait`, missing rows were deleted.
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
  schedule: object | null;
  status: ConnectionStatus;
}

const insertConnectionSql = sql<object>`
  INSERT INTO :schema.connections
    (id, tenant_id, provider_slug, external_id, status, metadata, config, created_at,
     updated_at, credential_id, schedule)
  SELECT :id, t.id, :provider, :externalId, :status, :metadata, :config, :now, :now, :credentialId, :schedule
  FROM :scope.tenants t WHERE t.id = :tenantId
  RETURNING 1`;

export async function insertConnection(db: Queryable, now: Date, connection: NewConnection): Promise<void> {
  const { id, tenantId, provider, externalId, credentialId, status, metadata, config, schedule } = connection;
  const inserted = await insertConnectionSql
    .all(db, {
      id,
      tenantId,
      provider,
      externalId,
      status,
      metadata: JSON.stringify(metadata),
      config: JSON.stringify(config),
      now,
      credentialId,
      schedule: schedule && JSON.stringify(schedule),
    })
    .catch((error: unknown) => {
      if (violatedConstraint(error) === 'connections_provider_slug_fkey') throw providerNotFound(provider);
      throw error;
    });
  if (inserted.length === 0) throw notFound(`tenant ${tenantId}`, 'Create it first.');
}

const writeCursorSql = sql<object>`
  UPDATE :schema.connections
  SET metadata = CASE
        WHEN :isSet THEN :schema.patch_sync(metadata, jsonb_build_object('cursor', :cursor::jsonb))
        WHEN jsonb_typeof(metadata -> 'sync') = 'object' THEN metadata #- '{sync,cursor}'
        ELSE metadata END,
      updated_at = :now
  WHERE id = :id`;

export async function writeCursor(tx: Queryable, now: Date, id: string, cursor: unknown): Promise<void> {
  const isSet = cursor !== undefined && cursor !== null;
  await writeCursorSql.all(tx, { id, isSet, cursor: isSet ? JSON.stringify(cursor) : null, now });
}

const deleteConnectionSql = sql<object>`DELETE FROM :schema.connections WHERE id = :id`;

/** Trigger `delete_owned` deletes its jobs and signals. */
export async function deleteConnection(tx: Queryable, id: string): Promise<void> {
  await deleteConnectionSql.all(tx, { id });
}

const writeSyncSql = sql<object>`
  UPDATE :schema.connections
  SET metadata = :schema.patch_sync(metadata, :keys) #- :removedPath::text[], waits_for_job = false,
      updated_at = :now
  WHERE id = :id`;

export async function writeSync(
  tx: Queryable,
  now: Date,
  id: string,
  keys: Record<string, unknown>,
  removedKey?: string,
): Promise<void> {
  await writeSyncSql.all(tx, {
    id,
    keys: JSON.stringify(keys),
    removedPath: removedKey === undefined ? [] : ['sync', removedKey],
    now,
  });
}

const activateConnectionsSql = sql<object>`
  UPDATE :schema.connections
  SET status = 'active', updated_at = :now, failing_since = NULL, failure = NULL,
      metadata = CASE WHEN :schema.parse_instant(metadata #>> '{sync,first_activated_at}') IS NULL
        THEN :schema.patch_sync(metadata, jsonb_build_object('first_activated_at', :firstActivatedAt::text))
        ELSE metadata END
  WHERE id = ANY (:ids::uuid[])`;

/** Sets `first_activated_at` if missing or unparsable. */
export async function activateConnections(
  db: Queryable,
  now: Date,
  ids: readonly string[],
  firstActivatedAt: string,
): Promise<void> {
  await activateConnectionsSql.all(db, { ids, now, firstActivatedAt });
}

const setConnectionStatusSql = sql<{ id: string }>`
  UPDATE :schema.connections SET status = :to, updated_at = :now
  WHERE id = ANY (:ids::uuid[]) AND status = :from
  RETURNING id`;

/** Returns those that were in `from`. */
export async function setConnectionStatus(
  tx: Queryable,
  now: Date,
  ids: string[],
  from: ConnectionStatus,
  to: ConnectionStatus,
): Promise<Set<string>> {
  const rows = await setConnectionStatusSql.all(tx, { now, ids, from, to });
  return new Set(rows.map((row) => row.id));
}

const writeConfigSql = sql<object>`
  UPDATE :schema.connections SET config = :config, updated_at = :now WHERE id = :id`;

export async function writeConfig(
  tx: Queryable,
  now: Date,
  id: string,
  config: Record<string, unknown>,
): Promise<void> {
  await writeConfigSql.all(tx, { id, now, config: JSON.stringify(config) });
}

const writeScheduleSql = sql<object>`
  UPDATE :schema.connections SET schedule = :schedule, updated_at = :now WHERE id = :id`;

/** null: by interval. */
export async function writeSchedule(
  tx: Queryable,
  now: Date,
  id: string,
  schedule: object | null,
): Promise<void> {
  await writeScheduleSql.all(tx, { id, now, schedule: schedule && JSON.stringify(schedule) });
}
