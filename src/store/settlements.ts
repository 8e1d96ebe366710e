import type { JobType } from '../contract/states.ts';
import type { Owner } from './connections.ts';
import type { Queryable } from './database.ts';
import { prepared, unnest } from './sql.ts';

const lockConnectionsSql = prepared<Owner>`
  SELECT id, tenant_id, provider_slug FROM :schema.connections
  WHERE id = ANY (:ids::uuid[]) ORDER BY id FOR NO KEY UPDATE`;

/** Lock order: connections by id, then jobs. The jobs' state stays as read. */
export function lockConnections(tx: Queryable, ids: string[]): Promise<Owner[]> {
  return lockConnectionsSql.all(tx, { ids });
}

/** Re-read under lock. */
export interface RunRow {
  id: string;
  claim_id: string | null;
  status: string;
  rerun_priority: number | null;
  hinted: boolean;
}

const lockRunsSql = prepared<RunRow>`
  SELECT id, claim_id, status, rerun_priority, hinted
  FROM :schema.sync_jobs WHERE id = ANY (:jobIds::uuid[])
  FOR NO KEY UPDATE`;

/** By id: with a status condition, the planner may scan all running jobs. */
export function lockRuns(tx: Queryable, jobIds: string[]): Promise<RunRow[]> {
  return lockRunsSql.all(tx, { jobIds });
}

export interface ConnectionWrite {
  connectionId: string;
  /** JSON text; null keeps it. */
  cursor: string | null;
  ended: boolean;
  /** Failure kind; null on success. */
  failure: string | null;
}

const writeConnectionsSql = prepared<object>`
  UPDATE :schema.connections c
  SET metadata = CASE WHEN w.cursor IS NULL THEN c.metadata
        ELSE :schema.patch_sync(c.metadata, jsonb_build_object('cursor', w.cursor)) END,
      last_incremental_ended_at = CASE WHEN w.ended THEN greatest(c.last_incremental_ended_at, :now)
        ELSE c.last_incremental_ended_at END,
      waits_for_job = c.waits_for_job AND NOT w.ended,
      -- Rate limiting counts neither as failure nor as success.
      failing_since = CASE WHEN w.failure IS NULL THEN NULL
        WHEN w.failure = 'rate_limited' THEN c.failing_since
        ELSE coalesce(c.failing_since, :now) END,
      failure = CASE WHEN w.failure = 'rate_limited' THEN c.failure ELSE w.failure END,
      -- EXE-9: a run that ended did not crash its process.
      losses = NULL, updated_at = :now
  FROM ${unnest('w', { connectionId: 'uuid', cursor: 'jsonb', ended: 'boolean', failure: 'text' })}
  -- Skip no-op updates, except a success that clears failure state.
  WHERE c.id = ANY (ARRAY[w.connection_id])
    AND (w.ended OR w.cursor IS NOT NULL OR w.failure IS NOT NULL OR c.failing_since IS NOT NULL
      OR c.losses IS NOT NULL)`;

/** With the triggers' writes: one row version, not two. */
export async function writeConnections(tx: Queryable, now: Date, writes: ConnectionWrite[]): Promise<void> {
  if (writes.length === 0) return;
  await writeConnectionsSql.all(tx, { now, w: writes });
}

export interface RefusedRun {
  connectionId: string;
  credentialId: string | null;
  startedAt: Date;
}

const refuseConnectionsSql = prepared<{ id: string }>`
  UPDATE :schema.connections c SET status = 'needs_auth', updated_at = :now
  FROM ${unnest('r', { connectionId: 'uuid', credentialId: 'uuid', startedAt: 'timestamptz' })}
  WHERE c.id = ANY (ARRAY[r.connection_id]) AND c.status = 'active'
    AND c.credential_id IS NOT DISTINCT FROM r.credential_id
    AND NOT EXISTS (
      SELECT FROM :schema.credentials k
      WHERE k.id = c.credential_id AND k.kind <> 'custom' AND k.updated_at > r.started_at
        AND k.refreshed_at IS NULL AND k.refused_at IS NULL)
  RETURNING c.id`;

/**
 * Returns those now in `needs_auth`. Not if a user replaced the refused credential during the run: the user
 * would not return. Token refreshes and credentials saved by runs are no replacement.
 */
export async function refuseConnections(tx: Queryable, now: Date, runs: RefusedRun[]): Promise<Set<string>> {
  const rows = await refuseConnectionsSql.all(tx, { now, r: runs });
  return new Set(rows.map((row) => row.id));
}

const keptActiveSql = prepared<Owner>`
  SELECT c.id, c.tenant_id, c.provider_slug FROM :schema.connections c
  WHERE c.id = ANY (:ids::uuid[]) AND c.status = 'active'
    AND NOT EXISTS (
      SELECT FROM :schema.credentials k WHERE k.id = c.credential_id AND k.updated_at > :now)`;

/**
 * Of refused runs that changed no connection: their credential was replaced. Not in the future, as after a
 * step of the clock: every run would precede the replacement.
 */
export function keptActive(tx: Queryable, now: Date, ids: string[]): Promise<Owner[]> {
  return keptActiveSql.all(tx, { now, ids });
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

const settleJobsSql = prepared<{ connection_id: string }>`
  WITH settled AS (UPDATE :schema.sync_jobs j
  SET status = e.status, finished_at = CASE WHEN e.status = 'queued' THEN NULL ELSE :now::timestamptz END,
      attempts = e.attempts, retry_after = e.retry_after, error = e.error,
      signal_count = e.signals, next_cursor = e.next_cursor,
      priority = CASE WHEN e.status = 'queued' THEN greatest(j.priority, j.rerun_priority)
        ELSE j.priority END,
      process_id = NULL, rerun_priority = NULL, updated_at = :now
  FROM ${unnest('e', {
    jobId: 'uuid',
    status: 'text',
    attempts: 'int',
    retryAfter: 'timestamptz',
    error: 'jsonb',
    signals: 'int',
    nextCursor: 'jsonb',
  })}
  WHERE j.id = ANY (ARRAY[e.job_id])
  RETURNING j.connection_id)
  SELECT connection_id FROM settled s
  WHERE (SELECT b.id FROM :schema.sync_jobs b
         WHERE b.connection_id = s.connection_id AND b.status = 'queued' AND b.blocked LIMIT 1) IS NOT NULL`;

/**
 * Keeps `claim_id`: a retried commit recognises its result. Returns connections with blocked jobs by a
 * snapshot taken under the lock of the runs: a writer that touches a running job blocks its siblings. The
 * caller unblocks them if triggers are off; otherwise a trigger has done so.
 */
export async function settleJobs(tx: Queryable, now: Date, ends: JobEnd[]): Promise<string[]> {
  if (ends.length === 0) return [];
  return (await settleJobsSql.all(tx, { now, e: ends })).map((row) => row.connection_id);
}

const unblockSiblingsSql = prepared<object>`SELECT :schema.unblock_siblings(:connectionIds::uuid[])`;

export async function unblockSiblings(tx: Queryable, connectionIds: string[]): Promise<void> {
  if (connectionIds.length > 0) await unblockSiblingsSql.all(tx, { connectionIds });
}

/** A follow-up, or a run that a trigger, a retry or a hint requests. */
export interface JobRequest {
  id: string;
  tenantId: string;
  providerSlug: string;
  connectionId: string;
  type: JobType;
  priority: number;
  /** JSON text; null: the connection's cursor. */
  cursor: string | null;
  retryAfter: Date | null;
  /** Default: now. Start lag counts from here. */
  scheduledAt?: Date | undefined;
  keepsPause?: boolean | undefined;
  /** Another run follows. */
  hinted?: boolean | undefined;
}

const queueJobsSql = prepared<object>`
  INSERT INTO :schema.sync_jobs AS j
    (id, tenant_id, provider_slug, connection_id, job_type, priority, cursor, retry_after, hinted,
     scheduled_at, created_at, updated_at)
  SELECT q.id, q.tenant_id, q.provider_slug, q.connection_id, q.type, q.priority, q.cursor, q.retry_after,
    q.hinted, q.scheduled_at, :now, :now
  FROM ${unnest('q', {
    id: 'uuid',
    tenantId: 'uuid',
    providerSlug: 'text',
    connectionId: 'uuid',
    type: 'text',
    priority: 'smallint',
    cursor: 'jsonb',
    retryAfter: 'timestamptz',
    hinted: 'boolean',
    scheduledAt: 'timestamptz',
  })}
  ON CONFLICT (connection_id, job_type) WHERE status IN ('queued', 'running') DO UPDATE
  SET tenant_id = excluded.tenant_id, provider_slug = excluded.provider_slug,
      cursor = coalesce(excluded.cursor, j.cursor),
      scheduled_at = least(j.scheduled_at, excluded.scheduled_at),
      retry_after = CASE WHEN excluded.id = ANY (:keptPauses::uuid[])
        THEN greatest(j.retry_after, excluded.retry_after) ELSE excluded.retry_after END,
      priority = greatest(j.priority, excluded.priority), updated_at = :now,
      hinted = j.hinted OR excluded.hinted`;

/**
 * EXE-6: a queued job takes over the cursor and becomes due. EXE-7: with `keepsPause`, the later
 * `retry_after`.
 */
export async function queueJobs(tx: Queryable, now: Date, jobs: JobRequest[]): Promise<void> {
  if (jobs.length === 0) return;
  await queueJobsSql.all(tx, {
    now,
    keptPauses: jobs.filter((job) => job.keepsPause).map((job) => job.id),
    q: jobs.map((job) => ({ ...job, hinted: job.hinted ?? false, scheduledAt: job.scheduledAt ?? now })),
  });
}
