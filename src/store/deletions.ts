import type { Queryable } from './database.ts';

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

const columns = `connection_id, tenant_id, provider_slug, external_id, actor, key_id, reason, estimated_signals::float8,
  deleted_signals::float8, error, requested_at, updated_at, finished_at`;

export type NewDeletion = Pick<
  DeletionRow,
  'connection_id' | 'tenant_id' | 'provider_slug' | 'external_id' | 'actor' | 'key_id' | 'reason'
> & { estimated_signals: number };

export async function insertDeletion(tx: Queryable, now: Date, deletion: NewDeletion): Promise<void> {
  const { connection_id, tenant_id, provider_slug, external_id, actor, key_id, reason } = deletion;
  await tx.query(
    `INSERT INTO ${tx.schema}.deletions
       (connection_id, tenant_id, provider_slug, external_id, actor, key_id, reason, estimated_signals, requested_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)
     ON CONFLICT (connection_id) DO UPDATE SET
       actor = excluded.actor, key_id = excluded.key_id, reason = excluded.reason, error = NULL, finished_at = NULL,
       estimated_signals = excluded.estimated_signals, deleted_signals = 0, requested_at = excluded.requested_at, updated_at = excluded.updated_at`,
    [
      connection_id,
      tenant_id,
      provider_slug,
      external_id,
      actor,
      key_id,
      reason,
      deletion.estimated_signals,
      now,
    ],
  );
}

export async function findDeletion(db: Queryable, connectionId: string): Promise<DeletionRow | undefined> {
  const [row] = await db.query<DeletionRow>(
    `SELECT ${columns} FROM ${db.tables.deletions} d WHERE connection_id = $1`,
    [connectionId],
  );
  return row;
}

/**
 * Least recently updated first, SKIP LOCKED. Without `connectionId`, a deletion that failed after
 * `failedBefore` backs off.
 */
export async function takeDeletion(
  tx: Queryable,
  { connectionId, failedBefore }: { connectionId: string | undefined; failedBefore: Date },
): Promise<DeletionRow | undefined> {
  const [row] = await tx.query<DeletionRow>(
    `SELECT ${columns} FROM ${tx.schema}.deletions
     WHERE finished_at IS NULL AND CASE WHEN $1::uuid IS NULL THEN error IS NULL OR updated_at <= $2 ELSE connection_id = $1 END
     ORDER BY updated_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
    [connectionId, failedBefore],
  );
  return row;
}

export async function hasOpenDeletions(db: Queryable): Promise<boolean> {
  const rows = await db.query(`SELECT FROM ${db.schema}.deletions WHERE finished_at IS NULL LIMIT 1`);
  return rows.length > 0;
}

export async function advanceDeletion(tx: Queryable, now: Date, id: string, signals: number): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.deletions SET deleted_signals = deleted_signals + $3, error = NULL, updated_at = $2 WHERE connection_id = $1`,
    [id, now, signals],
  );
}

export async function failDeletion(db: Queryable, now: Date, id: string, error: string): Promise<void> {
  await db.query(
    `UPDATE ${db.schema}.deletions SET error = $3, updated_at = $2 WHERE connection_id = $1 AND finished_at IS NULL`,
    [id, now, error],
  );
}

export async function finishDeletion(tx: Queryable, now: Date, id: string): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.deletions SET error = NULL, updated_at = $2, finished_at = $2 WHERE connection_id = $1`,
    [id, now],
  );
}

export async function deleteDeletions(tx: Queryable, cutoff: Date, limit: number): Promise<number> {
  const rows = await tx.query(
    `DELETE FROM ${tx.schema}.deletions WHERE connection_id = ANY (ARRAY(
       SELECT connection_id FROM ${tx.schema}.deletions WHERE finished_at < $1 ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED))
     RETURNING 1`,
    [cutoff, limit],
  );
  return rows.length;
}

export async function markDeleting(tx: Queryable, now: Date, id: string): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.connections SET status = 'disabled', deleting_since = $2, updated_at = $2 WHERE id = $1`,
    [id, now],
  );
}

/** Exact up to here, then the planner's estimate. */
const maxCounted = 100_000;

export async function estimateSignals(tx: Queryable, connectionId: string): Promise<number> {
  const [row] = await tx.query<{ counted: number }>(
    `SELECT count(*)::int AS counted FROM (SELECT FROM ${tx.schema}.signals WHERE connection_id = $1 LIMIT $2) s`,
    [connectionId, maxCounted],
  );
  const counted = row?.counted ?? 0;
  if (counted < maxCounted) return counted;
  const [plan] = await tx.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `EXPLAIN (FORMAT JSON) SELECT FROM ${tx.schema}.signals WHERE connection_id = $1`,
    [connectionId],
  );
  return Math.max(counted, plan?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0);
}

export async function deleteJobs(tx: Queryable, connectionId: string, limit: number): Promise<number> {
  const rows = await tx.query(
    `DELETE FROM ${tx.schema}.sync_jobs WHERE id = ANY (ARRAY(
       SELECT id FROM ${tx.schema}.sync_jobs WHERE connection_id = $1 LIMIT $2))
     RETURNING 1`,
    [connectionId, limit],
  );
  return rows.length;
}
