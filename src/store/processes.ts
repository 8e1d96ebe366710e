import { clockColumn } from './clock.ts';
import type { Queryable, Transaction } from './database.ts';
import { indexLookup } from './plans.ts';

const leaseEnd = `$1::timestamptz + $2::float8 * interval '1 second'`;

export interface NewProcess {
  id: string;
  host: string;
  pid: number;
  concurrency: number;
  providers: string[];
  /** Positive: its clock is ahead. */
  clockSkewSeconds: number;
}

export async function insertProcess(
  db: Queryable,
  now: Date,
  leaseSeconds: number,
  { id, host, pid, concurrency, providers, clockSkewSeconds }: NewProcess,
): Promise<void> {
  await db.query(
    `INSERT INTO ${db.schema}.processes (id, host, pid, concurrency, providers, clock_skew_seconds, started_at, expires_at)
     VALUES ($3, $4, $5, $6, $7, $8, $1, ${leaseEnd})`,
    [now, leaseSeconds, id, host, pid, concurrency, providers, clockSkewSeconds],
  );
}

export interface Beat {
  /** The lease was valid and is renewed. */
  held: boolean;
  /** Other processes, for the caller to reap. */
  expired: string[];
  now_ms: number;
  /** Runs whose claim is no longer valid. */
  lost: LostRun[];
}

export interface LostRun extends ClaimKey {
  status: string;
}

export interface ClaimKey {
  jobId: string;
  claimId: string;
}

/** EXE-9: lease renewal, expired processes and own claims in one statement. */
export async function beat(
  db: Queryable,
  now: Date,
  leaseSeconds: number,
  process: { id: string; clockSkewSeconds: number },
  runs: ClaimKey[],
): Promise<Beat> {
  const [row] = await db.query<Beat>(
    `WITH renewed AS (
       UPDATE ${db.schema}.processes SET expires_at = ${leaseEnd}, clock_skew_seconds = $6
       WHERE id = $3 AND expires_at > $1
       RETURNING id
     ), run AS (
       SELECT r.id, r.claim_id, (SELECT j.status FROM ${db.schema}.sync_jobs j WHERE j.id = r.id) AS status
       FROM unnest($4::uuid[], $5::uuid[]) AS r (id, claim_id)
       WHERE (SELECT j.id FROM ${db.schema}.sync_jobs j
              WHERE j.id = r.id AND j.claim_id = r.claim_id AND j.status = 'running') IS NULL
     )
     SELECT EXISTS (SELECT FROM renewed) AS held,
       ARRAY(SELECT id FROM ${db.schema}.processes WHERE expires_at <= $1 AND id <> $3) AS expired,
       coalesce((SELECT json_agg(json_build_object('jobId', id, 'claimId', claim_id, 'status', coalesce(status, 'deleted'))) FROM run), '[]') AS lost,
       ${clockColumn}`,
    [
      now,
      leaseSeconds,
      process.id,
      runs.map((run) => run.jobId),
      runs.map((run) => run.claimId),
      process.clockSkewSeconds,
    ],
  );
  return row ?? { held: false, expired: [], lost: [], now_ms: now.getTime() };
}

/** Jobs are requeued now. EXE-9: a released lease does not count as a crash. */
export async function releaseProcess(db: Queryable, now: Date, id: string): Promise<void> {
  await db.query(
    `UPDATE ${db.schema}.processes SET expires_at = least(expires_at, $1), released = true WHERE id = $2`,
    [now, id],
  );
}

export interface ExpiredProcess {
  host: string;
  pid: number;
  expires_at: Date;
  released: boolean;
}

/** Until COMMIT no heartbeat renews the lease and no other process reaps it. */
export async function lockExpired(tx: Transaction, id: string): Promise<ExpiredProcess | undefined> {
  const [row] = await tx.query<ExpiredProcess>(
    `SELECT host, pid, expires_at, released FROM ${tx.schema}.processes
     WHERE id = $2 AND expires_at <= $1 FOR UPDATE SKIP LOCKED`,
    [tx.now, id],
  );
  return row;
}

/** Locked with its connection. */
export interface LostJob {
  id: string;
  connection_id: string;
  /** From the connection. */
  tenant_id: string;
  provider_slug: string;
  job_type: 'incremental' | 'full' | 'webhook';
  priority: number;
  attempts: number;
  rerun_priority: number | null;
  hinted: boolean;
  losses: unknown;
}

/** SKIP LOCKED never waits, so lock order does not matter. */
export function lockLost(
  tx: Queryable,
  owner: { processId: string; claimId?: string },
  limit: number,
): Promise<LostJob[]> {
  return tx.query<LostJob>(
    `SELECT j.id, j.connection_id, c.tenant_id, c.provider_slug, j.job_type, j.priority, j.attempts, j.rerun_priority, j.hinted, c.losses
     FROM ${tx.schema}.sync_jobs j JOIN ${tx.schema}.connections c ON ${indexLookup('c.id', 'j.connection_id')}
     WHERE j.status = 'running' AND j.process_id = $1 AND ($2::uuid IS NULL OR j.claim_id = $2)
     LIMIT $3
     FOR NO KEY UPDATE OF c, j SKIP LOCKED`,
    [owner.processId, owner.claimId, limit],
  );
}

export interface Requeued {
  jobId: string;
  retryAfter: Date | null;
  /** JSON text; null keeps the stored one. */
  error: string | null;
}

/** `attempts` does not change. */
export async function requeueJobs(tx: Queryable, now: Date, jobs: Requeued[]): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs j
     SET status = 'queued', process_id = NULL, claim_id = NULL, rerun_priority = NULL, updated_at = $1,
         priority = greatest(j.priority, j.rerun_priority), retry_after = r.retry_after, error = coalesce(r.error, j.error)
     FROM unnest($2::uuid[], $3::timestamptz[], $4::jsonb[]) AS r (id, retry_after, error)
     WHERE ${indexLookup('j.id', 'r.id')}`,
    [now, jobs.map((job) => job.jobId), jobs.map((job) => job.retryAfter), jobs.map((job) => job.error)],
  );
}

export interface LossesWrite {
  connectionId: string;
  /** JSON text. */
  losses: string;
}

/** EXE-9: records a crash on the connections whose jobs the process ran. */
export async function writeLosses(tx: Queryable, writes: LossesWrite[]): Promise<void> {
  if (writes.length === 0) return;
  await tx.query(
    `UPDATE ${tx.schema}.connections c SET losses = w.losses
     FROM unnest($1::uuid[], $2::jsonb[]) AS w (id, losses) WHERE ${indexLookup('c.id', 'w.id')}`,
    [writes.map((write) => write.connectionId), writes.map((write) => write.losses)],
  );
}

/** EXE-9: removes the crash of a process that turned out to be alive. */
export async function forgiveProcess(tx: Queryable, id: string): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.connections c
     SET losses = (SELECT jsonb_agg(l.loss ORDER BY l.place) FROM jsonb_array_elements(c.losses) WITH ORDINALITY AS l (loss, place)
                   WHERE l.loss ->> 'process' IS DISTINCT FROM $1)
     WHERE c.losses IS NOT NULL AND c.losses @> jsonb_build_array(jsonb_build_object('process', $1::text))`,
    [id],
  );
}

/** Processes of running jobs whose row was deleted externally. */
export async function missingProcesses(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT DISTINCT j.process_id AS id FROM ${db.schema}.sync_jobs j
     WHERE j.status = 'running' AND j.process_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM ${db.schema}.processes p WHERE p.id = j.process_id)
     LIMIT 100`,
  );
  return rows.map((row) => row.id);
}

/** Only without running jobs. */
export async function deleteProcess(tx: Queryable, id: string): Promise<void> {
  await tx.query(
    `DELETE FROM ${tx.schema}.processes WHERE id = $1
       AND (SELECT j.id FROM ${tx.schema}.sync_jobs j WHERE j.status = 'running' AND j.process_id = $1 LIMIT 1) IS NULL`,
    [id],
  );
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

/** Includes expired ones not reaped yet. */
export function findProcesses(db: Queryable, now: Date): Promise<ProcessRow[]> {
  return db.query<ProcessRow>(
    `SELECT id, host, pid, concurrency, providers, started_at, expires_at, clock_skew_seconds, expires_at > $1 AS alive
     FROM ${db.tables.processes} p ORDER BY started_at LIMIT 1000`,
    [now],
  );
}
