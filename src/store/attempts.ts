import type { Queryable } from './database.ts';
import { lookedUp } from './plans.ts';

/** A line that a connector logged during a run. */
export interface LogLine {
  at: string;
  level: string;
  message: string;
  fields: Record<string, unknown>;
}

export interface NewAttempt {
  jobId: string;
  claimId: string;
  outcome: 'succeeded' | 'failed' | 'retried';
  startedAt: Date;
  retryAfter: Date | null;
  /** JSON text. */
  error: string | null;
  /** JSON text. */
  log: string | null;
}

/** The newest attempts of a job that are kept: a job that fails for months must not grow for months. */
const mostAttempts = 100;

export async function insertAttempts(tx: Queryable, now: Date, attempts: NewAttempt[]): Promise<void> {
  if (attempts.length === 0) return;
  await tx.query(
    `INSERT INTO ${tx.schema}.attempts (ended_at, job_id, claim_id, outcome, started_at, retry_after, error, log)
     SELECT $1, a.* FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::jsonb[], $8::jsonb[]) AS a
     ON CONFLICT (job_id, claim_id) DO NOTHING`,
    [
      now,
      attempts.map((attempt) => attempt.jobId),
      attempts.map((attempt) => attempt.claimId),
      attempts.map((attempt) => attempt.outcome),
      attempts.map((attempt) => attempt.startedAt),
      attempts.map((attempt) => attempt.retryAfter),
      attempts.map((attempt) => attempt.error),
      attempts.map((attempt) => attempt.log),
    ],
  );
}

/** Forgets the oldest attempts of jobs that have had very many. */
export async function trimAttempts(tx: Queryable, jobIds: string[]): Promise<void> {
  if (jobIds.length === 0) return;
  await tx.query(
    `DELETE FROM ${tx.schema}.attempts a USING unnest($1::uuid[]) AS j (id)
     WHERE ${lookedUp('a.job_id', 'j.id')} AND a.ended_at <= (
       SELECT o.ended_at FROM ${tx.schema}.attempts o WHERE o.job_id = j.id
       ORDER BY o.ended_at DESC OFFSET ${mostAttempts} LIMIT 1)`,
    [jobIds],
  );
}

/** Notes the runs of these jobs that ended with their process, before the jobs are put back. */
export async function recordLost(tx: Queryable, now: Date, jobIds: string[]): Promise<void> {
  await tx.query(
    `INSERT INTO ${tx.schema}.attempts (job_id, claim_id, outcome, started_at, ended_at)
     SELECT id, claim_id, 'lost', coalesce(started_at, $1), $1 FROM ${tx.schema}.sync_jobs
     WHERE id = ANY ($2::uuid[]) AND claim_id IS NOT NULL
     ON CONFLICT (job_id, claim_id) DO NOTHING`,
    [now, jobIds],
  );
}

export interface AttemptRow {
  claim_id: string;
  outcome: 'succeeded' | 'failed' | 'retried' | 'lost';
  started_at: Date;
  ended_at: Date;
  retry_after: Date | null;
  error: unknown;
  log: LogLine[] | null;
}

/** What is known of a job's runs, oldest first. */
export function findAttempts(db: Queryable, jobId: string): Promise<AttemptRow[]> {
  return db.query<AttemptRow>(
    `SELECT claim_id, outcome, started_at, ended_at, retry_after, error, log
     FROM ${db.schema}.attempts WHERE job_id = $1 ORDER BY ended_at LIMIT ${2 * mostAttempts}`,
    [jobId],
  );
}
