import type { JobType } from '../contract/states.ts';
import { maxNameLength, maxProviders } from '../values/limits.ts';
import { clockColumn } from './clock.ts';
import type { Queryable, Transaction } from './database.ts';
import { withinBytes } from './page-bytes.ts';
import { sql, unnest } from './sql.ts';

export interface NewProcess {
  id: string;
  host: string;
  pid: number;
  concurrency: number;
  providers: string[];
  /** Positive: its clock is ahead. */
  clockSkewSeconds: number;
}

const insertProcessSql = sql<object>`
  INSERT INTO :schema.processes
    (id, host, pid, concurrency, providers, clock_skew_seconds, started_at, expires_at)
  VALUES (:id, :host, :pid, :concurrency, :providers, :clockSkewSeconds, :now,
    :now::timestamptz + :leaseSeconds::float8 * interval '1 second')`;

export async function insertProcess(
  db: Queryable,
  now: Date,
  leaseSeconds: number,
  { id, host, pid, concurrency, providers, clockSkewSeconds }: NewProcess,
): Promise<void> {
  await insertProcessSql.all(db, {
    now,
    leaseSeconds,
    id,
    host,
    pid,
    concurrency,
    providers,
    clockSkewSeconds,
  });
}

export interface Heartbeat {
  held: boolean;
  /** For the caller to reap. */
  expired: string[];
  now_ms: number;
  lost: LostRun[];
}

export interface LostRun extends ClaimKey {
  status: string;
}

export interface ClaimKey {
  jobId: string;
  claimId: string;
}

const heartbeatSql = sql<Heartbeat>`
  WITH renewed AS (
    UPDATE :schema.processes
    SET expires_at = :now::timestamptz + :leaseSeconds::float8 * interval '1 second',
        clock_skew_seconds = :clockSkewSeconds
    WHERE id = :id AND expires_at > :now
    RETURNING id
  ), run AS (
    SELECT r.job_id, r.claim_id, (SELECT j.status FROM :schema.sync_jobs j WHERE j.id = r.job_id) AS status
    FROM ${unnest('r', { jobId: 'uuid', claimId: 'uuid' })}
    WHERE (SELECT j.id FROM :schema.sync_jobs j
           WHERE j.id = r.job_id AND j.claim_id = r.claim_id AND j.status = 'running') IS NULL
  )
  SELECT EXISTS (SELECT FROM renewed) AS held,
    ARRAY(SELECT id FROM :schema.processes WHERE expires_at <= :now AND id <> :id) AS expired,
    coalesce((
      SELECT json_agg(json_build_object(
        'jobId', job_id, 'claimId', claim_id, 'status', coalesce(status, 'deleted')))
      FROM run), '[]') AS lost,
    ${clockColumn}`;

export async function heartbeat(
  db: Queryable,
  now: Date,
  leaseSeconds: number,
  process: { id: string; clockSkewSeconds: number },
  runs: ClaimKey[],
): Promise<Heartbeat> {
  const row = await heartbeatSql.first(db, {
    now,
    leaseSeconds,
    id: process.id,
    clockSkewSeconds: process.clockSkewSeconds,
    r: runs,
  });
  return row ?? { held: false, expired: [], lost: [], now_ms: now.getTime() };
}

const releaseProcessSql = sql<object>`
  UPDATE :schema.processes SET expires_at = least(expires_at, :now), released = true WHERE id = :id`;

/** EXE-9: requeues jobs now; a released lease is no crash. */
export async function releaseProcess(db: Queryable, now: Date, id: string): Promise<void> {
  await releaseProcessSql.all(db, { now, id });
}

export interface ExpiredProcess {
  host: string;
  pid: number;
  expires_at: Date;
  released: boolean;
}

const lockExpiredSql = sql<ExpiredProcess>`
  SELECT host, pid, expires_at, released FROM :schema.processes
  WHERE id = :id AND expires_at <= :now FOR UPDATE SKIP LOCKED`;

/** Until COMMIT, no heartbeat renews and no other process reaps it. */
export function lockExpired(tx: Transaction, id: string): Promise<ExpiredProcess | undefined> {
  return lockExpiredSql.first(tx, { now: tx.now, id });
}

/** Locked with its connection. */
export interface LostJob {
  id: string;
  connection_id: string;
  tenant_id: string;
  provider_slug: string;
  job_type: JobType;
  priority: number;
  attempts: number;
  rerun_priority: number | null;
  hinted: boolean;
  losses: unknown;
}

const lockLostSql = sql<LostJob>`
  SELECT j.id, j.connection_id, c.tenant_id, c.provider_slug, j.job_type, j.priority, j.attempts,
    j.rerun_priority, j.hinted, c.losses
  FROM :schema.sync_jobs j JOIN :schema.connections c ON c.id = ANY (ARRAY[j.connection_id])
  WHERE j.status = 'running' AND j.process_id = :processId
    AND (:claimId::uuid IS NULL OR j.claim_id = :claimId)
  LIMIT :limit
  FOR NO KEY UPDATE OF c, j SKIP LOCKED`;

/** SKIP LOCKED: lock order does not matter. */
export function lockLost(
  tx: Queryable,
  owner: { processId: string; claimId?: string },
  limit: number,
): Promise<LostJob[]> {
  return lockLostSql.all(tx, { processId: owner.processId, claimId: owner.claimId, limit });
}

export interface Requeued {
  jobId: string;
  retryAfter: Date | null;
  /** JSON text; null keeps it. */
  error: string | null;
}

const requeueJobsSql = sql<object>`
  UPDATE :schema.sync_jobs j
  SET status = 'queued', process_id = NULL, claim_id = NULL, rerun_priority = NULL, updated_at = :now,
      priority = greatest(j.priority, j.rerun_priority), retry_after = r.retry_after,
      error = coalesce(r.error, j.error)
  FROM ${unnest('r', { jobId: 'uuid', retryAfter: 'timestamptz', error: 'jsonb' })}
  WHERE j.id = ANY (ARRAY[r.job_id])`;

/** `attempts` does not change. */
export async function requeueJobs(tx: Queryable, now: Date, jobs: Requeued[]): Promise<void> {
  if (jobs.length === 0) return;
  await requeueJobsSql.all(tx, { now, r: jobs });
}

export interface LossesWrite {
  connectionId: string;
  /** JSON text. */
  losses: string;
}

const writeLossesSql = sql<object>`
  UPDATE :schema.connections c SET losses = w.losses
  FROM ${unnest('w', { connectionId: 'uuid', losses: 'jsonb' })} WHERE c.id = ANY (ARRAY[w.connection_id])`;

/** EXE-9. */
export async function writeLosses(tx: Queryable, writes: LossesWrite[]): Promise<void> {
  if (writes.length === 0) return;
  await writeLossesSql.all(tx, { w: writes });
}

const forgiveProcessSql = sql<object>`
  UPDATE :schema.connections c
  SET losses = (
    SELECT jsonb_agg(l.loss ORDER BY l.place)
    FROM jsonb_array_elements(c.losses) WITH ORDINALITY AS l (loss, place)
    WHERE l.loss ->> 'process' IS DISTINCT FROM :id)
  WHERE c.losses IS NOT NULL AND c.losses @> jsonb_build_array(jsonb_build_object('process', :id::text))`;

/** EXE-9: the process is alive. */
export async function forgiveProcess(tx: Queryable, id: string): Promise<void> {
  await forgiveProcessSql.all(tx, { id });
}

const missingProcessesSql = sql<{ id: string }>`
  SELECT DISTINCT j.process_id AS id FROM :schema.sync_jobs j
  WHERE j.status = 'running' AND j.process_id IS NOT NULL
    AND NOT EXISTS (SELECT FROM :schema.processes p WHERE p.id = j.process_id)
  LIMIT 100`;

/** Their rows were deleted externally. */
export async function missingProcesses(db: Queryable): Promise<string[]> {
  const rows = await missingProcessesSql.all(db);
  return rows.map((row) => row.id);
}

const deleteProcessSql = sql<object>`
  DELETE FROM :schema.processes
  WHERE id = :id AND (
    SELECT j.id FROM :schema.sync_jobs j
    WHERE j.status = 'running' AND j.process_id = :id LIMIT 1) IS NULL`;

/** Only without running jobs. */
export async function deleteProcess(tx: Queryable, id: string): Promise<void> {
  await deleteProcessSql.all(tx, { id });
}

export interface ProcessRow {
  id: string;
  /** null for tenants. */
  host: string | null;
  pid: number | null;
  concurrency: number;
  providers: string[];
  started_at: Date;
  expires_at: Date;
  clock_skew_seconds: number;
  alive: boolean;
}

const maxProcesses = 1000;

const processesPage = withinBytes(
  `SELECT id, left(host, ${maxNameLength}) AS host, pid, concurrency,
     ARRAY(SELECT left(slug, ${maxNameLength}) FROM unnest(providers) AS slug LIMIT ${maxProviders}) AS providers,
     started_at, expires_at, clock_skew_seconds
   FROM :scope.processes p ORDER BY started_at LIMIT :limit`,
  { columns: ['host', 'providers'], order: 'p.started_at', above: ':limit' },
);
const findProcessesSql = sql<ProcessRow>`
  SELECT id, host, pid, concurrency, providers, started_at, expires_at, clock_skew_seconds,
    expires_at > :now AS alive
  FROM ${processesPage} p ORDER BY started_at`;

/** Includes expired ones. */
export function findProcesses(db: Queryable, now: Date): Promise<ProcessRow[]> {
  return findProcessesSql.all(db, { now, limit: maxProcesses + 1 });
}
