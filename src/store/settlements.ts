import type { Queryable } from './database.ts';
import { indexLookup } from './plans.ts';

/** Lock order: connections by id, then jobs. Prevents deadlocks, and the jobs' state stays as read. */
export async function lockConnections(tx: Queryable, ids: string[]): Promise<void> {
  await tx.query(
    `SELECT count(*) FROM (
       SELECT FROM ${tx.schema}.connections WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE) locked`,
    [ids],
  );
}

/** A claimed job, re-read under lock. */
export interface RunRow {
  id: string;
  claim_id: string | null;
  status: string;
  rerun_priority: number | null;
  hinted: boolean;
  /** Other jobs of the connection wait for it. */
  blocks_others: boolean;
}

/** By id only: with a status condition the planner may scan the small index of running jobs per row. */
export function lockRuns(tx: Queryable, jobIds: string[]): Promise<RunRow[]> {
  return tx.query<RunRow>(
    `SELECT j.id, j.claim_id, j.status, j.rerun_priority, j.hinted,
       (SELECT b.id FROM ${tx.schema}.sync_jobs b
        WHERE b.connection_id = j.connection_id AND b.status = 'queued' AND b.blocked LIMIT 1) IS NOT NULL AS blocks_others
     FROM ${tx.schema}.sync_jobs j WHERE j.id = ANY ($1::uuid[])
     FOR NO KEY UPDATE OF j`,
    [jobIds],
  );
}

export interface ConnectionWrite {
  connectionId: string;
  /** JSON text; null keeps the stored cursor. */
  cursor: string | null;
  ended: boolean;
  /** Failure kind; null on success. */
  failure: string | null;
}

/** Includes what the triggers would write: one row version instead of two. */
export async function writeConnections(tx: Queryable, now: Date, writes: ConnectionWrite[]): Promise<void> {
  if (writes.length === 0) return;
  await tx.query(
    `UPDATE ${tx.schema}.connections c
     SET metadata = CASE WHEN w.cursor IS NULL THEN c.metadata
           ELSE ${tx.schema}.patch_sync(c.metadata, jsonb_build_object('cursor', w.cursor)) END,
         last_incremental_ended_at =
           CASE WHEN w.ended THEN greatest(c.last_incremental_ended_at, $1) ELSE c.last_incremental_ended_at END,
         waits_for_job = c.waits_for_job AND NOT w.ended,
         -- Rate limiting counts neither as failure nor as success.
         failing_since = CASE WHEN w.failure IS NULL THEN NULL WHEN w.failure = 'rate_limited' THEN c.failing_since
           ELSE coalesce(c.failing_since, $1) END,
         failure = CASE WHEN w.failure = 'rate_limited' THEN c.failure ELSE w.failure END,
         -- EXE-9: a run that ended did not crash its process.
         losses = NULL, updated_at = $1
     FROM unnest($2::uuid[], $3::jsonb[], $4::boolean[], $5::text[]) AS w (id, cursor, ended, failure)
     -- Skip no-op updates, except a success that clears failure state.
     WHERE ${indexLookup('c.id', 'w.id')} AND (w.ended OR w.cursor IS NOT NULL OR w.failure IS NOT NULL OR c.failing_since IS NOT NULL
       OR c.losses IS NOT NULL)`,
    [
      now,
      writes.map((write) => write.connectionId),
      writes.map((write) => write.cursor),
      writes.map((write) => write.ended),
      writes.map((write) => write.failure),
    ],
  );
}

export interface RefusedRun {
  connectionId: string;
  credentialId: string | null;
  startedAt: Date;
}

/**
 * Returns the connections now in `needs_auth`. Skips those whose credential a user replaced during the run:
 * the provider refused the old one, and the user would not return. Token refreshes and credentials saved by
 * runs are no replacement.
 */
export async function refuseConnections(tx: Queryable, now: Date, runs: RefusedRun[]): Promise<Set<string>> {
  const rows = await tx.query<{ id: string }>(
    `UPDATE ${tx.schema}.connections c SET status = 'needs_auth', updated_at = $1
     FROM unnest($2::uuid[], $3::uuid[], $4::timestamptz[]) AS r (id, credential_id, started_at)
     WHERE ${indexLookup('c.id', 'r.id')} AND c.status = 'active' AND c.credential_id IS NOT DISTINCT FROM r.credential_id
       AND NOT EXISTS (SELECT FROM ${tx.schema}.credentials k WHERE k.id = c.credential_id AND k.kind <> 'custom'
         AND k.updated_at > r.started_at AND k.refreshed_at IS NULL AND k.refused_at IS NULL)
     RETURNING c.id`,
    [
      now,
      runs.map((run) => run.connectionId),
      runs.map((run) => run.credentialId),
      runs.map((run) => run.startedAt),
    ],
  );
  return new Set(rows.map((row) => row.id));
}

export interface JobEnd {
  jobId: string;
  status: 'succeeded' | 'failed' | 'queued';
  attempts: number;
  retryAfter: Date | null;
  /** JSON text. */
  error: string | null;
  signals: number;
  /** JSON text. */
  nextCursor: string | null;
}

/** Keeps `claim_id`, so a retried commit recognises its own result. */
export async function settleJobs(tx: Queryable, now: Date, ends: JobEnd[]): Promise<void> {
  if (ends.length === 0) return;
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs j
     SET status = e.status, finished_at = CASE WHEN e.status = 'queued' THEN NULL ELSE $1::timestamptz END,
         attempts = e.attempts, retry_after = e.retry_after, error = e.error,
         signal_count = e.signals, next_cursor = e.next_cursor,
         priority = CASE WHEN e.status = 'queued' THEN greatest(j.priority, j.rerun_priority) ELSE j.priority END,
         process_id = NULL, rerun_priority = NULL, updated_at = $1
     FROM unnest($2::uuid[], $3::text[], $4::int[], $5::timestamptz[], $6::jsonb[], $7::int[], $8::jsonb[])
       AS e (id, status, attempts, retry_after, error, signals, next_cursor)
     WHERE ${indexLookup('j.id', 'e.id')}`,
    [
      now,
      ends.map((end) => end.jobId),
      ends.map((end) => end.status),
      ends.map((end) => end.attempts),
      ends.map((end) => end.retryAfter),
      ends.map((end) => end.error),
      ends.map((end) => end.signals),
      ends.map((end) => end.nextCursor),
    ],
  );
}

export interface FollowUp {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  type: 'incremental' | 'full' | 'webhook';
  priority: number;
  /** JSON text; null: the connection's cursor. */
  cursor: string | null;
  retryAfter: Date | null;
  /** Default: now. Start lag counts from here, as `retry_after` is cleared. */
  scheduledAt?: Date | undefined;
  /** Keep the later `retry_after` of a queued job. */
  keepsPause?: boolean | undefined;
  /** Another run must follow the walk. */
  hinted?: boolean | undefined;
}

/**
 * EXE-6: a queued job of the same type takes over the cursor and becomes due. EXE-7: with `keepsPause`, the
 * later `retry_after` wins.
 */
export async function insertFollowUps(tx: Queryable, now: Date, jobs: FollowUp[]): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(
    `INSERT INTO ${tx.schema}.sync_jobs AS j
       (id, tenant_id, provider_slug, connection_id, job_type, priority, cursor, retry_after, hinted, scheduled_at, created_at, updated_at)
     SELECT f.*, $1, $1
     FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::smallint[], $8::jsonb[], $9::timestamptz[], $10::boolean[], $11::timestamptz[])
       AS f (id, tenant_id, provider_slug, connection_id, job_type, priority, cursor, retry_after, hinted, scheduled_at)
     ON CONFLICT (connection_id, job_type) WHERE status IN ('queued', 'running') DO UPDATE
     SET tenant_id = excluded.tenant_id, provider_slug = excluded.provider_slug,
         cursor = coalesce(excluded.cursor, j.cursor), scheduled_at = least(j.scheduled_at, excluded.scheduled_at),
         retry_after = CASE WHEN excluded.id = ANY ($12::uuid[]) THEN greatest(j.retry_after, excluded.retry_after) ELSE excluded.retry_after END,
         priority = greatest(j.priority, excluded.priority), updated_at = $1,
         hinted = j.hinted OR excluded.hinted`,
    [
      now,
      jobs.map((job) => job.id),
      jobs.map((job) => job.tenantId),
      jobs.map((job) => job.providerSlug),
      jobs.map((job) => job.connectionId),
      jobs.map((job) => job.type),
      jobs.map((job) => job.priority),
      jobs.map((job) => job.cursor),
      jobs.map((job) => job.retryAfter),
      jobs.map((job) => job.hinted ?? false),
      jobs.map((job) => job.scheduledAt ?? now),
      jobs.filter((job) => job.keepsPause).map((job) => job.id),
    ],
  );
}
