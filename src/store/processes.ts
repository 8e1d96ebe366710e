import { recordLost, trimAttempts } from './attempts.ts';
import type { Queryable } from './database.ts';
import { lookedUp } from './plans.ts';

/** Every time here is the lease clock: null stands for the database's own. */
type LeaseTime = Date | null;
const leaseNow = (parameter: string) => `coalesce(${parameter}::timestamptz, clock_timestamp())`;
const leaseEnd = (time: string, seconds: string) =>
  `${leaseNow(time)} + ${seconds}::float8 * interval '1 second'`;

export interface NewProcess {
  id: string;
  host: string;
  pid: number;
  concurrency: number;
  providers: string[];
}

export async function insertProcess(
  db: Queryable,
  now: LeaseTime,
  leaseSeconds: number,
  { id, host, pid, concurrency, providers }: NewProcess,
): Promise<void> {
  await db.query(
    `INSERT INTO ${db.schema}.processes (id, host, pid, concurrency, providers, started_at, expires_at)
     VALUES ($3, $4, $5, $6, $7, ${leaseNow('$1')}, ${leaseEnd('$1', '$2')})`,
    [now, leaseSeconds, id, host, pid, concurrency, providers],
  );
}

export interface Beat {
  /** Whether the lease was still there to be renewed. */
  held: boolean;
  /** Processes whose lease has run out. */
  expired: string[];
  /** Of the runs given, those that are no longer this process's, and what their jobs are now. */
  lost: LostRun[];
}

export interface LostRun extends ClaimKey {
  status: string;
}

/** A claim that a run believes to hold. */
export interface ClaimKey {
  jobId: string;
  claimId: string;
}

/** EXE-9: the heartbeat, the look for dead processes and the look after the own runs in one statement. */
export async function beat(
  db: Queryable,
  now: LeaseTime,
  leaseSeconds: number,
  processId: string,
  runs: ClaimKey[],
): Promise<Beat> {
  const [row] = await db.query<Beat>(
    `WITH renewed AS (
       UPDATE ${db.schema}.processes SET expires_at = ${leaseEnd('$1', '$2')}
       WHERE id = $3 AND expires_at > ${leaseNow('$1')}
       RETURNING id
     ), run AS (
       SELECT r.id, r.claim_id, (SELECT j.status FROM ${db.schema}.sync_jobs j WHERE j.id = r.id) AS status
       FROM unnest($4::uuid[], $5::uuid[]) AS r (id, claim_id)
       WHERE (SELECT j.id FROM ${db.schema}.sync_jobs j
              WHERE j.id = r.id AND j.claim_id = r.claim_id AND j.status = 'running') IS NULL
     )
     SELECT EXISTS (SELECT FROM renewed) AS held,
       ARRAY(SELECT id FROM ${db.schema}.processes WHERE expires_at <= ${leaseNow('$1')} AND id <> $3) AS expired,
       coalesce((SELECT json_agg(json_build_object('jobId', id, 'claimId', claim_id, 'status', coalesce(status, 'deleted'))) FROM run), '[]') AS lost`,
    [now, leaseSeconds, processId, runs.map((run) => run.jobId), runs.map((run) => run.claimId)],
  );
  return row ?? { held: false, expired: [], lost: [] };
}

/** Ends a process's own lease, so that its jobs can be put back at once. */
export async function expireProcess(db: Queryable, now: LeaseTime, id: string): Promise<void> {
  await db.query(
    `UPDATE ${db.schema}.processes SET expires_at = least(expires_at, ${leaseNow('$1')}) WHERE id = $2`,
    [now, id],
  );
}

/** Makes sure that the process is expired, and that nobody renews its lease or puts its jobs back beside us. */
export async function lockExpired(tx: Queryable, now: LeaseTime, id: string): Promise<boolean> {
  const rows = await tx.query(
    `SELECT FROM ${tx.schema}.processes WHERE id = $2 AND expires_at <= ${leaseNow('$1')} FOR UPDATE SKIP LOCKED`,
    [now, id],
  );
  return rows.length > 0;
}

/**
 * Puts jobs of a process, all or those of one claim, back into the queue as if they had not been claimed, and returns how
 * many. Those whose connection somebody holds at this moment are left for the next time: nobody is waited for, so they may be
 * locked in any order.
 */
export async function requeueJobs(
  tx: Queryable,
  now: Date,
  of: { processId: string; claimId?: string },
  limit: number,
): Promise<number> {
  const held = await tx.query<{ id: string }>(
    `SELECT j.id FROM ${tx.schema}.sync_jobs j JOIN ${tx.schema}.connections c ON ${lookedUp('c.id', 'j.connection_id')}
     WHERE j.status = 'running' AND j.process_id = $1 AND ($2::uuid IS NULL OR j.claim_id = $2)
     LIMIT $3
     FOR NO KEY UPDATE OF c, j SKIP LOCKED`,
    [of.processId, of.claimId, limit],
  );
  if (held.length === 0) return 0;
  const ids = held.map((job) => job.id);
  await recordLost(tx, now, ids);
  // A job whose runs all end with their process is never charged an attempt, so nothing else bounds these.
  await trimAttempts(tx, ids);
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs
     SET status = 'queued', process_id = NULL, claim_id = NULL, rerun_priority = NULL, updated_at = $1,
         priority = greatest(priority, rerun_priority)
     WHERE id = ANY ($2::uuid[])`,
    [now, ids],
  );
  return held.length;
}

/** Processes that are named by running jobs and are not there: somebody deleted their rows. */
export async function missingProcesses(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `SELECT DISTINCT j.process_id AS id FROM ${db.schema}.sync_jobs j
     WHERE j.status = 'running' AND j.process_id IS NOT NULL
       AND NOT EXISTS (SELECT FROM ${db.schema}.processes p WHERE p.id = j.process_id)
     LIMIT 100`,
  );
  return rows.map((row) => row.id);
}

/** Forgets a process that has no job any more. */
export async function deleteProcess(tx: Queryable, id: string): Promise<void> {
  await tx.query(
    `DELETE FROM ${tx.schema}.processes WHERE id = $1
       AND (SELECT j.id FROM ${tx.schema}.sync_jobs j WHERE j.status = 'running' AND j.process_id = $1 LIMIT 1) IS NULL`,
    [id],
  );
}

export interface ProcessRow {
  id: string;
  /** Unknown to those whom it does not concern. */
  host: string | null;
  pid: number | null;
  concurrency: number;
  providers: string[];
  started_at: Date;
  expires_at: Date;
  /** Whether its lease has not run out. */
  alive: boolean;
}

/** Every process that has a lease, or had one until just now. */
export function findProcesses(db: Queryable, now: LeaseTime): Promise<ProcessRow[]> {
  return db.query<ProcessRow>(
    `SELECT id, host, pid, concurrency, providers, started_at, expires_at, expires_at > ${leaseNow('$1')} AS alive
     FROM ${db.tables.processes} p ORDER BY started_at LIMIT 1000`,
    [now],
  );
}
