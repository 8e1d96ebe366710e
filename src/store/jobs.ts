import type { JobStatus, JobType } from '../contract/states.ts';
import { maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { prepared, sql, unnest } from './sql.ts';

export interface NewJob {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  scheduledAt: Date;
}

const insertIncrementalJobsSql = prepared<{ connection_id: string }>`
  INSERT INTO :schema.sync_jobs
    (id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, created_at, updated_at,
     blocked)
  SELECT n.id, n.tenant_id, n.provider_slug, n.connection_id, 'incremental', 'queued', n.scheduled_at, :now,
    :now, (
      SELECT r.id FROM :schema.sync_jobs r
      WHERE r.connection_id = n.connection_id AND r.status = 'running' LIMIT 1) IS NOT NULL
  FROM ${unnest('n', {
    id: 'uuid',
    tenantId: 'uuid',
    providerSlug: 'text',
    connectionId: 'uuid',
    scheduledAt: 'timestamptz',
  })}
  WHERE (
    SELECT j.id FROM :schema.sync_jobs j
    WHERE j.connection_id = n.connection_id AND j.job_type = 'incremental'
      AND j.status IN ('queued', 'running')
    LIMIT 1) IS NULL
  ON CONFLICT (connection_id, job_type) WHERE status IN ('queued', 'running') DO NOTHING
  RETURNING connection_id`;

/**
 * SCH-7. Checks before ON CONFLICT, which would wait for a transaction that ends the pending job and may need
 * a lock held here. A subquery per row: NOT EXISTS becomes a join over all pending jobs. On locked, active
 * connections, only a running job can block.
 */
export async function insertIncrementalJobs(tx: Queryable, now: Date, jobs: NewJob[]): Promise<Set<string>> {
  const rows = await insertIncrementalJobsSql.all(tx, { now, n: jobs });
  return new Set(rows.map((row) => row.connection_id));
}

const deleteEndedJobsSql = sql<{ deleted: number; last: string | null }>`
  WITH gone AS (
    DELETE FROM :schema.sync_jobs
    WHERE id = ANY (ARRAY(
      SELECT id FROM :schema.sync_jobs
      WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed')
        AND coalesce(finished_at, updated_at) >= :from AND coalesce(finished_at, updated_at) < :cutoff
      ORDER BY coalesce(finished_at, updated_at)
      LIMIT :limit
      FOR UPDATE SKIP LOCKED))
    RETURNING coalesce(finished_at, updated_at) AS ended_at)
  SELECT count(*)::int AS deleted, max(ended_at)::text AS last FROM gone`;

/** Pass `last` as the next `from`: under an old snapshot, a batch would walk all deleted index entries. */
export async function deleteEndedJobs(
  db: Queryable,
  { from, cutoff, limit }: { from: string; cutoff: Date; limit: number },
): Promise<{ deleted: number; last: string | null }> {
  const row = await deleteEndedJobsSql.first(db, { from, cutoff, limit });
  return row ?? { deleted: 0, last: null };
}

export interface PendingJob {
  id: string;
  status: 'queued' | 'running';
  attempts: number;
  scheduled_at: Date;
}

const findPendingJobSql = prepared<PendingJob>`
  SELECT id, status, attempts, scheduled_at FROM :schema.sync_jobs
  WHERE connection_id = :connectionId AND job_type = 'incremental' AND status IN ('queued', 'running')`;

export function findPendingJob(db: Queryable, connectionId: string): Promise<PendingJob | undefined> {
  return findPendingJobSql.first(db, { connectionId });
}

const lockWaitingJobSql = sql<PendingJob>`
  SELECT id, status, attempts, scheduled_at FROM :schema.sync_jobs
  WHERE connection_id = :connectionId AND job_type = 'incremental' AND status IN ('queued', 'running')
    AND status = 'queued' AND attempts = 0
  FOR UPDATE SKIP LOCKED`;

/** SKIP LOCKED: waiting for a claim could deadlock. */
export function lockWaitingJob(tx: Queryable, connectionId: string): Promise<PendingJob | undefined> {
  return lockWaitingJobSql.first(tx, { connectionId });
}

const moveJobSql = sql<object>`
  UPDATE :schema.sync_jobs SET scheduled_at = :scheduledAt, updated_at = :now WHERE id = :id`;

export async function moveJob(tx: Queryable, now: Date, id: string, scheduledAt: Date): Promise<void> {
  await moveJobSql.all(tx, { id, scheduledAt, now });
}

export interface JobRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_type: JobType;
  /** `completed`: an older status. */
  status: JobStatus | 'completed';
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

/** Error and cursors are JSON text. */
export interface JobWithCursors extends Omit<JobRow, 'error'> {
  error: string | null;
  cursor: string | null;
  next_cursor: string | null;
}

const jobColumns = `j.id, j.tenant_id, j.provider_slug, j.connection_id, j.job_type, j.status, j.priority,
  j.attempts, j.scheduled_at, j.retry_after, j.started_at, j.finished_at, j.created_at, j.updated_at,
  j.process_id, j.claim_id, j.blocked, j.signal_count,
  (SELECT left(c.external_id, ${maxNameLength}) FROM :schema.connections c
   WHERE c.id = j.connection_id) AS connection_name`;

export const jobColumnsWithCursors = `${jobColumns},
  j.error::text AS error, j.cursor::text AS cursor, j.next_cursor::text AS next_cursor`;

type JobLock = '' | 'FOR UPDATE';

const findJobSql = {
  '': prepared<JobWithCursors>`SELECT ${jobColumnsWithCursors} FROM :scope.sync_jobs j WHERE j.id = :id`,
  'FOR UPDATE': prepared<JobWithCursors>`
    SELECT ${jobColumnsWithCursors} FROM :scope.sync_jobs j WHERE j.id = :id FOR UPDATE OF j`,
};

export function findJob(db: Queryable, id: string, lock: JobLock = ''): Promise<JobWithCursors | undefined> {
  return findJobSql[lock].first(db, { id });
}

const pendingOf = `
  SELECT ${jobColumns}, j.error FROM :scope.sync_jobs j
  WHERE connection_id = :connectionId AND status IN ('queued', 'running')
  ORDER BY status DESC, priority DESC, scheduled_at`;
const pendingJobsSql = {
  '': prepared<JobRow>`${pendingOf}`,
  'FOR UPDATE': prepared<JobRow>`${pendingOf} FOR UPDATE OF j`,
};

/** At most one per type. */
export function pendingJobs(db: Queryable, connectionId: string, lock: JobLock = ''): Promise<JobRow[]> {
  return pendingJobsSql[lock].all(db, { connectionId });
}

const endedJobsSql = sql<JobRow>`
  SELECT ${jobColumns}, j.error FROM :scope.sync_jobs j
  WHERE connection_id = :connectionId AND status IN ('succeeded', 'failed', 'cancelled', 'completed')
  ORDER BY coalesce(finished_at, updated_at) DESC LIMIT :limit`;

export function endedJobs(db: Queryable, connectionId: string, limit: number): Promise<JobRow[]> {
  return endedJobsSql.all(db, { connectionId, limit });
}

const findStoredCursorSql = sql<{ cursor: unknown }>`
  SELECT j.next_cursor AS cursor FROM :scope.sync_jobs j
  WHERE j.id = :jobId AND j.connection_id = :connectionId AND j.next_cursor IS NOT NULL`;

export function findStoredCursor(
  tx: Queryable,
  connectionId: string,
  jobId: string,
): Promise<{ cursor: unknown } | undefined> {
  return findStoredCursorSql.first(tx, { jobId, connectionId });
}

const requeueFromStartSql = sql<object>`
  UPDATE :schema.sync_jobs
  SET status = 'queued', cursor = NULL, process_id = NULL, claim_id = NULL, updated_at = :now,
      priority = greatest(priority, rerun_priority), rerun_priority = NULL
  WHERE id = ANY (:ids::uuid[])`;

/** A run in progress then fails its claim check. */
export async function requeueFromStart(tx: Queryable, now: Date, ids: string[]): Promise<void> {
  await requeueFromStartSql.all(tx, { now, ids });
}

const cancelJobSql = sql<object>`
  UPDATE :schema.sync_jobs
  SET status = 'cancelled', finished_at = :now, updated_at = :now, process_id = NULL, claim_id = NULL,
      rerun_priority = NULL
  WHERE id = :id`;

/** Without a claim, a run in progress cannot commit. */
export async function cancelJob(tx: Queryable, now: Date, id: string): Promise<void> {
  await cancelJobSql.all(tx, { id, now });
}

const bringForwardSql = sql<object>`
  UPDATE :schema.sync_jobs
  SET scheduled_at = least(scheduled_at, :now), retry_after = NULL, priority = greatest(priority, :priority),
      updated_at = :now
  WHERE id = :id`;

export async function bringForward(tx: Queryable, now: Date, id: string, priority: number): Promise<void> {
  await bringForwardSql.all(tx, { id, now, priority });
}

const bringAllForwardSql = prepared<{ connection_id: string }>`
  UPDATE :schema.sync_jobs SET
    rerun_priority = CASE WHEN status = 'running' THEN greatest(rerun_priority, :priority::smallint)
      ELSE rerun_priority END,
    scheduled_at = CASE WHEN status = 'queued' THEN least(scheduled_at, :now) ELSE scheduled_at END,
    retry_after = CASE WHEN status = 'queued' THEN NULL ELSE retry_after END,
    priority = CASE WHEN status = 'queued' THEN greatest(priority, :priority::smallint) ELSE priority END,
    updated_at = :now
  WHERE connection_id = ANY (:connectionIds::uuid[]) AND job_type = 'incremental'
    AND status IN ('queued', 'running')
  RETURNING connection_id`;

/** Queued jobs become due, running ones rerun. */
export async function bringAllForward(
  tx: Queryable,
  now: Date,
  connectionIds: readonly string[],
  priority: number,
): Promise<Set<string>> {
  const rows = await bringAllForwardSql.all(tx, { connectionIds, now, priority });
  return new Set(rows.map((row) => row.connection_id));
}

const markHintedSql = sql<{ connection_id: string }>`
  UPDATE :schema.sync_jobs SET
    hinted = true,
    scheduled_at = CASE WHEN status = 'queued' AND (retry_after IS NULL OR retry_after <= :now)
      THEN least(scheduled_at, :now) ELSE scheduled_at END,
    retry_after = CASE WHEN status = 'queued' AND (retry_after IS NULL OR retry_after <= :now)
      THEN NULL ELSE retry_after END,
    priority = CASE WHEN status = 'queued' AND (retry_after IS NULL OR retry_after <= :now)
      THEN greatest(priority, :priority::smallint) ELSE priority END,
    updated_at = CASE WHEN status = 'queued' AND (retry_after IS NULL OR retry_after <= :now)
      THEN :now ELSE updated_at END
  WHERE connection_id = ANY (:connectionIds::uuid[]) AND job_type = 'incremental'
    AND status IN ('queued', 'running')
  RETURNING connection_id`;

/** Another run follows the current walk. Queued jobs become due unless in backoff. */
export async function markHinted(
  tx: Queryable,
  now: Date,
  connectionIds: readonly string[],
  priority: number,
): Promise<Set<string>> {
  const rows = await markHintedSql.all(tx, { connectionIds, now, priority });
  return new Set(rows.map((row) => row.connection_id));
}

const hintedConnectionsSql = sql<{ connection_id: string }>`
  SELECT connection_id FROM :schema.sync_jobs
  WHERE connection_id = ANY (:connectionIds::uuid[]) AND job_type = 'incremental'
    AND status IN ('queued', 'running') AND hinted
    AND (status = 'running' OR scheduled_at <= :now OR retry_after > :now)`;

/** An earlier hint already guarantees a later run. */
export async function hintedConnections(
  db: Queryable,
  connectionIds: readonly string[],
  now: Date,
): Promise<Set<string>> {
  const rows = await hintedConnectionsSql.all(db, { connectionIds, now });
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

const insertReceivedJobsSql = sql<object>`
  INSERT INTO :schema.sync_jobs
    (id, tenant_id, provider_slug, connection_id, signal_count, job_type, status, scheduled_at, started_at,
     finished_at, created_at, updated_at)
  SELECT n.*, 'webhook', 'succeeded', :now, :now, :now, :now, :now
  FROM ${unnest('n', {
    id: 'uuid',
    tenantId: 'uuid',
    providerSlug: 'text',
    connectionId: 'uuid',
    signals: 'int',
  })}`;

/** As succeeded: triggers and pending indexes ignore them. */
export async function insertReceivedJobs(
  tx: Queryable,
  now: Date,
  jobs: readonly ReceivedJob[],
): Promise<void> {
  if (jobs.length === 0) return;
  await insertReceivedJobsSql.all(tx, { now, n: jobs });
}

const requestRerunSql = sql<object>`
  UPDATE :schema.sync_jobs SET rerun_priority = greatest(rerun_priority, :priority::smallint) WHERE id = :id`;

/** Repeats only raise the priority. */
export async function requestRerun(tx: Queryable, id: string, priority: number): Promise<void> {
  await requestRerunSql.all(tx, { id, priority });
}
