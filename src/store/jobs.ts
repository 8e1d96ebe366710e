import { maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';

export interface NewJob {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  scheduledAt: Date;
}

/**
 * SCH-7. Checks before ON CONFLICT, because the unique index would wait for a transaction that ends the
 * pending job, which may wait for a connection locked here. A subquery per row: NOT EXISTS becomes a join
 * over all pending jobs. The connections are locked and active, so only a running job can block the new one.
 */
export async function insertIncrementalJobs(tx: Queryable, now: Date, jobs: NewJob[]): Promise<Set<string>> {
  const rows = await tx.query<{ connection_id: string }>(
    `INSERT INTO ${tx.schema}.sync_jobs
       (id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, created_at, updated_at, blocked)
     SELECT n.id, n.tenant_id, n.provider_slug, n.connection_id, 'incremental', 'queued', n.scheduled_at, $1, $1, (
       SELECT r.id FROM ${tx.schema}.sync_jobs r WHERE r.connection_id = n.connection_id AND r.status = 'running' LIMIT 1) IS NOT NULL
     FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::timestamptz[])
       AS n (id, tenant_id, provider_slug, connection_id, scheduled_at)
     WHERE (
       SELECT j.id FROM ${tx.schema}.sync_jobs j
       WHERE j.connection_id = n.connection_id AND j.job_type = 'incremental' AND j.status IN ('queued', 'running')
       LIMIT 1) IS NULL
     ON CONFLICT (connection_id, job_type) WHERE status IN ('queued', 'running') DO NOTHING
     RETURNING connection_id`,
    [
      now,
      jobs.map((job) => job.id),
      jobs.map((job) => job.tenantId),
      jobs.map((job) => job.providerSlug),
      jobs.map((job) => job.connectionId),
      jobs.map((job) => job.scheduledAt),
    ],
  );
  return new Set(rows.map((row) => row.connection_id));
}

/**
 * Pass `last` as the next `from` (timestamptz text): deleted entries stay in the index while an old snapshot
 * is open, and every batch would walk them.
 */
export async function deleteEndedJobs(
  db: Queryable,
  { from, cutoff, limit }: { from: string; cutoff: Date; limit: number },
): Promise<{ deleted: number; last: string | null }> {
  const [row] = await db.query<{ deleted: number; last: string | null }>(
    `WITH gone AS (
       DELETE FROM ${db.schema}.sync_jobs
       WHERE id = ANY (ARRAY(
         SELECT id FROM ${db.schema}.sync_jobs
         WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed')
           AND coalesce(finished_at, updated_at) >= $1 AND coalesce(finished_at, updated_at) < $2
         ORDER BY coalesce(finished_at, updated_at)
         LIMIT $3
         FOR UPDATE SKIP LOCKED))
       RETURNING coalesce(finished_at, updated_at) AS ended_at)
     SELECT count(*)::int AS deleted, max(ended_at)::text AS last FROM gone`,
    [from, cutoff, limit],
  );
  return row ?? { deleted: 0, last: null };
}

export interface PendingJob {
  id: string;
  status: 'queued' | 'running';
  attempts: number;
  scheduled_at: Date;
}

const pendingIncremental = (schema: string) =>
  `SELECT id, status, attempts, scheduled_at FROM ${schema}.sync_jobs
   WHERE connection_id = $1 AND job_type = 'incremental' AND status IN ('queued', 'running')`;

export async function findPendingJob(db: Queryable, connectionId: string): Promise<PendingJob | undefined> {
  const [row] = await db.query<PendingJob>(pendingIncremental(db.schema), [connectionId]);
  return row;
}

/** SKIP LOCKED: waiting for a claim could deadlock. */
export async function lockWaitingJob(tx: Queryable, connectionId: string): Promise<PendingJob | undefined> {
  const [row] = await tx.query<PendingJob>(
    `${pendingIncremental(tx.schema)} AND status = 'queued' AND attempts = 0 FOR UPDATE SKIP LOCKED`,
    [connectionId],
  );
  return row;
}

export async function moveJob(tx: Queryable, now: Date, id: string, scheduledAt: Date): Promise<void> {
  await tx.query(`UPDATE ${tx.schema}.sync_jobs SET scheduled_at = $2, updated_at = $3 WHERE id = $1`, [
    id,
    scheduledAt,
    now,
  ]);
}

export type JobStatus = 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'completed';

export interface JobRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_type: 'incremental' | 'full' | 'webhook';
  status: JobStatus;
  priority: number;
  attempts: number;
  scheduled_at: Date;
  retry_after: Date | null;
  started_at: Date | null;
  finished_at: Date | null;
  error: unknown;
  created_at: Date;
  updated_at: Date;
  process_id: string | null;
  claim_id: string | null;
  blocked: boolean;
  signal_count: number;
  connection_name: string | null;
}

/** Cursors are JSON text. */
export interface JobWithCursors extends JobRow {
  cursor: string | null;
  next_cursor: string | null;
}

const jobColumns = (
  db: Queryable,
) => `j.id, j.tenant_id, j.provider_slug, j.connection_id, j.job_type, j.status, j.priority, j.attempts, j.scheduled_at,
  j.retry_after, j.started_at, j.finished_at, j.error, j.created_at, j.updated_at, j.process_id, j.claim_id, j.blocked, j.signal_count,
  (SELECT left(c.external_id, ${maxNameLength}) FROM ${db.schema}.connections c WHERE c.id = j.connection_id) AS connection_name`;

export const jobColumnsWithCursors = (db: Queryable) =>
  `${jobColumns(db)}, j.cursor::text AS cursor, j.next_cursor::text AS next_cursor`;

type JobLock = '' | 'FOR UPDATE';

export async function findJob(
  db: Queryable,
  id: string,
  lock: JobLock = '',
): Promise<JobWithCursors | undefined> {
  const [row] = await db.query<JobWithCursors>(
    `SELECT ${jobColumnsWithCursors(db)} FROM ${db.tables.jobs} j WHERE j.id = $1 ${lock && `${lock} OF j`}`,
    [id],
  );
  return row;
}

/** At most one per type. */
export function pendingJobs(db: Queryable, connectionId: string, lock: JobLock = ''): Promise<JobRow[]> {
  return db.query<JobRow>(
    `SELECT ${jobColumns(db)} FROM ${db.tables.jobs} j
     WHERE connection_id = $1 AND status IN ('queued', 'running')
     ORDER BY status DESC, priority DESC, scheduled_at ${lock && `${lock} OF j`}`,
    [connectionId],
  );
}

export function endedJobs(db: Queryable, connectionId: string, limit: number): Promise<JobRow[]> {
  return db.query<JobRow>(
    `SELECT ${jobColumns(db)} FROM ${db.tables.jobs} j
     WHERE connection_id = $1 AND status IN ('succeeded', 'failed', 'cancelled', 'completed')
     ORDER BY coalesce(finished_at, updated_at) DESC LIMIT $2`,
    [connectionId, limit],
  );
}

export async function findStoredCursor(
  tx: Queryable,
  connectionId: string,
  jobId: string,
): Promise<{ cursor: unknown } | undefined> {
  const [row] = await tx.query<{ cursor: unknown }>(
    `SELECT j.next_cursor AS cursor FROM ${tx.tables.jobs} j
     WHERE j.id = $1 AND j.connection_id = $2 AND j.next_cursor IS NOT NULL`,
    [jobId, connectionId],
  );
  return row;
}

/** Requeues without cursor and claim; a run in progress fails its claim check at commit. */
export async function requeueFromStart(tx: Queryable, now: Date, ids: string[]): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs
     SET status = 'queued', cursor = NULL, process_id = NULL, claim_id = NULL, updated_at = $1,
         priority = greatest(priority, rerun_priority), rerun_priority = NULL
     WHERE id = ANY ($2::uuid[])`,
    [now, ids],
  );
}

/** Clears the claim, so a run in progress cannot commit. */
export async function cancelJob(tx: Queryable, now: Date, id: string): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs
     SET status = 'cancelled', finished_at = $2, updated_at = $2, process_id = NULL, claim_id = NULL, rerun_priority = NULL
     WHERE id = $1`,
    [id, now],
  );
}

export async function bringForward(tx: Queryable, now: Date, id: string, priority: number): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs
     SET scheduled_at = least(scheduled_at, $2), retry_after = NULL, priority = greatest(priority, $3), updated_at = $2
     WHERE id = $1`,
    [id, now, priority],
  );
}

/** Queued jobs become due now, running ones rerun. Returns the connections that had one. */
export async function bringAllForward(
  tx: Queryable,
  now: Date,
  connectionIds: readonly string[],
  priority: number,
): Promise<Set<string>> {
  const rows = await tx.query<{ connection_id: string }>(
    `UPDATE ${tx.schema}.sync_jobs SET
       rerun_priority = CASE WHEN status = 'running' THEN greatest(rerun_priority, $3::smallint) ELSE rerun_priority END,
       scheduled_at = CASE WHEN status = 'queued' THEN least(scheduled_at, $2) ELSE scheduled_at END,
       retry_after = CASE WHEN status = 'queued' THEN NULL ELSE retry_after END,
       priority = CASE WHEN status = 'queued' THEN greatest(priority, $3::smallint) ELSE priority END,
       updated_at = $2
     WHERE connection_id = ANY ($1::uuid[]) AND job_type = 'incremental' AND status IN ('queued', 'running')
     RETURNING connection_id`,
    [connectionIds, now, priority],
  );
  return new Set(rows.map((row) => row.connection_id));
}

/**
 * A run from the connection's cursor follows, also after a walk in progress. Queued jobs become due now
 * unless they back off. Returns the connections that had one.
 */
export async function markHinted(
  tx: Queryable,
  now: Date,
  connectionIds: readonly string[],
  priority: number,
): Promise<Set<string>> {
  const moves = `status = 'queued' AND (retry_after IS NULL OR retry_after <= $2)`;
  const rows = await tx.query<{ connection_id: string }>(
    `UPDATE ${tx.schema}.sync_jobs SET
       hinted = true,
       scheduled_at = CASE WHEN ${moves} THEN least(scheduled_at, $2) ELSE scheduled_at END,
       retry_after = CASE WHEN ${moves} THEN NULL ELSE retry_after END,
       priority = CASE WHEN ${moves} THEN greatest(priority, $3::smallint) ELSE priority END,
       updated_at = CASE WHEN ${moves} THEN $2 ELSE updated_at END
     WHERE connection_id = ANY ($1::uuid[]) AND job_type = 'incremental' AND status IN ('queued', 'running')
     RETURNING connection_id`,
    [connectionIds, now, priority],
  );
  return new Set(rows.map((row) => row.connection_id));
}

/** An earlier hint already guarantees a run that starts after `now`. */
export async function hintedConnections(
  db: Queryable,
  connectionIds: readonly string[],
  now: Date,
): Promise<Set<string>> {
  const rows = await db.query<{ connection_id: string }>(
    `SELECT connection_id FROM ${db.schema}.sync_jobs
     WHERE connection_id = ANY ($1::uuid[]) AND job_type = 'incremental' AND status IN ('queued', 'running') AND hinted
       AND (status = 'running' OR scheduled_at <= $2 OR retry_after > $2)`,
    [connectionIds, now],
  );
  return new Set(rows.map((row) => row.connection_id));
}

/** A webhook delivery. */
export interface ReceivedJob {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  signals: number;
}

/** Inserted as succeeded: triggers and indexes of pending jobs ignore them. */
export async function insertReceivedJobs(
  tx: Queryable,
  now: Date,
  jobs: readonly ReceivedJob[],
): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(
    `INSERT INTO ${tx.schema}.sync_jobs
       (id, tenant_id, provider_slug, connection_id, signal_count, job_type, status, scheduled_at, started_at, finished_at, created_at, updated_at)
     SELECT n.*, 'webhook', 'succeeded', $1, $1, $1, $1, $1
     FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::int[]) AS n`,
    [
      now,
      jobs.map((job) => job.id),
      jobs.map((job) => job.tenantId),
      jobs.map((job) => job.providerSlug),
      jobs.map((job) => job.connectionId),
      jobs.map((job) => job.signals),
    ],
  );
}

/** Repeated requests only raise the priority. */
export async function requestRerun(tx: Queryable, id: string, priority: number): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs SET rerun_priority = greatest(rerun_priority, $2::smallint) WHERE id = $1`,
    [id, priority],
  );
}
