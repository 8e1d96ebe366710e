import type { Queryable } from './database.ts';
import { isEnded, isPending } from './job-statuses.ts';
import { sql } from './sql.ts';

export interface DeletionRow {
  connection_id: string;
  tenant_id: string;
  provider_slug: string;
  external_id: string | null;
  actor: string;
  key_id: string | null;
  reason: string | null;
  estimated_signals: number;
  deleted_signals: number;
  error: string | null;
  requested_at: Date;
  updated_at: Date;
  finished_at: Date | null;
}

const columns = `connection_id, tenant_id, provider_slug, external_id, actor, key_id, reason,
  estimated_signals::float8, deleted_signals::float8, error, requested_at, updated_at, finished_at`;

export type NewDeletion = Pick<
  DeletionRow,
  'connection_id' | 'tenant_id' | 'provider_slug' | 'external_id' | 'actor' | 'key_id' | 'reason'
> & { estimated_signals: number };

const insertDeletionSql = sql<object>`
  INSERT INTO :schema.deletions
    (connection_id, tenant_id, provider_slug, external_id, actor, key_id, reason, estimated_signals,
     requested_at, updated_at)
  VALUES (:connection_id, :tenant_id, :provider_slug, :external_id, :actor, :key_id, :reason,
    :estimatedSignals, :now, :now)
  ON CONFLICT (connection_id) DO UPDATE SET
    actor = excluded.actor, key_id = excluded.key_id, reason = excluded.reason, error = NULL,
    finished_at = NULL, estimated_signals = excluded.estimated_signals, deleted_signals = 0,
    requested_at = excluded.requested_at, updated_at = excluded.updated_at`;

export async function insertDeletion(tx: Queryable, now: Date, deletion: NewDeletion): Promise<void> {
  const { connection_id, tenant_id, provider_slug, external_id, actor, key_id, reason } = deletion;
  await insertDeletionSql.all(tx, {
    connection_id,
    tenant_id,
    provider_slug,
    external_id,
    actor,
    key_id,
    reason,
    estimatedSignals: deletion.estimated_signals,
    now,
  });
}

const findDeletionSql = sql<DeletionRow>`
  SELECT ${columns} FROM :scope.deletions d WHERE connection_id = :connectionId`;

export function findDeletion(db: Queryable, connectionId: string): Promise<DeletionRow | undefined> {
  return findDeletionSql.first(db, { connectionId });
}

const takeDeletionSql = sql<DeletionRow>`
  SELECT ${columns} FROM :schema.deletions
  WHERE finished_at IS NULL
    AND CASE WHEN :connectionId::uuid IS NULL THEN error IS NULL OR updated_at <= :failedBefore
      ELSE connection_id = :connectionId END
  ORDER BY updated_at LIMIT 1 FOR UPDATE SKIP LOCKED`;

/** SKIP LOCKED. Without `connectionId`, skips deletions that failed after `failedBefore`. */
export function takeDeletion(
  tx: Queryable,
  { connectionId, failedBefore }: { connectionId: string | undefined; failedBefore: Date },
): Promise<DeletionRow | undefined> {
  return takeDeletionSql.first(tx, { connectionId, failedBefore });
}

const hasOpenDeletionsSql = sql<object>`SELECT FROM :schema.deletions WHERE finished_at IS NULL LIMIT 1`;

export async function hasOpenDeletions(db: Queryable): Promise<boolean> {
  const rows = await hasOpenDeletionsSql.all(db);
  return rows.length > 0;
}

const advanceDeletionSql = sql<object>`
  UPDATE :schema.deletions SET deleted_signals = deleted_signals + :signals, error = NULL, updated_at = :now
  WHERE connection_id = :id`;

export async function advanceDeletion(tx: Queryable, now: Date, id: string, signals: number): Promise<void> {
  await advanceDeletionSql.all(tx, { id, now, signals });
}

const failDeletionSql = sql<object>`
  UPDATE :schema.deletions SET error = :error, updated_at = :now
  WHERE connection_id = :id AND finished_at IS NULL`;

export async function failDeletion(db: Queryable, now: Date, id: string, error: string): Promise<void> {
  await failDeletionSql.all(db, { id, now, error });
}

const finishDeletionSql = sql<object>`
  UPDATE :schema.deletions SET error = NULL, updated_at = :now, finished_at = :now WHERE connection_id = :id`;

export async function finishDeletion(tx: Queryable, now: Date, id: string): Promise<void> {
  await finishDeletionSql.all(tx, { id, now });
}

const deleteDeletionsSql = sql<object>`
  DELETE FROM :schema.deletions WHERE connection_id = ANY (ARRAY(
    SELECT connection_id FROM :schema.deletions WHERE finished_at < :cutoff ORDER BY finished_at LIMIT :limit
    FOR UPDATE SKIP LOCKED))
  RETURNING 1`;

export async function deleteDeletions(tx: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await deleteDeletionsSql.all(tx, { cutoff, limit });
  return rows.length;
}

const markDeletingSql = sql<object>`
  UPDATE :schema.connections SET status = 'disabled', deleting_since = :now, updated_at = :now
  WHERE id = :id`;

export async function markDeleting(tx: Queryable, now: Date, id: string): Promise<void> {
  await markDeletingSql.all(tx, { id, now });
}

/** Beyond it, the planner's estimate. */
const maxCounted = 100_000;

const planSignalsSql = sql<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>`
  EXPLAIN (FORMAT JSON) SELECT FROM :schema.signals WHERE connection_id = :connectionId`;

const estimateSignalsSql = sql<{ counted: number }>`
  SELECT count(*)::int AS counted
  FROM (SELECT FROM :schema.signals WHERE connection_id = :connectionId LIMIT :maxCounted) s`;

export async function estimateSignals(tx: Queryable, connectionId: string): Promise<number> {
  const row = await estimateSignalsSql.first(tx, { connectionId, maxCounted });
  const counted = row?.counted ?? 0;
  if (counted < maxCounted) return counted;
  const plan = await planSignalsSql.first(tx, { connectionId });
  return Math.max(counted, plan?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0);
}

const deleteJobsSql = sql<object>`
  DELETE FROM :schema.sync_jobs WHERE id = ANY (ARRAY(
    (SELECT id FROM :schema.sync_jobs WHERE connection_id = :connectionId AND ${isPending})
    UNION ALL
    (SELECT id FROM :schema.sync_jobs WHERE connection_id = :connectionId AND ${isEnded} LIMIT :limit)))
  RETURNING 1`;

export async function deleteJobs(tx: Queryable, connectionId: string, limit: number): Promise<number> {
  const rows = await deleteJobsSql.all(tx, { connectionId, limit });
  return rows.length;
}
