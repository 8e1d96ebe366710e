import type { Queryable } from './database.ts';
import { withinBytes } from './page-bytes.ts';
import { indexLookup } from './plans.ts';

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

/** Bounds jobs that fail for months. */
const maxAttempts = 100;

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

export async function trimAttempts(tx: Queryable, jobIds: string[]): Promise<void> {
  if (jobIds.length === 0) return;
  await tx.query(
    `DELETE FROM ${tx.schema}.attempts a USING unnest($1::uuid[]) AS j (id)
     WHERE ${indexLookup('a.job_id', 'j.id')} AND a.ended_at <= (
       SELECT o.ended_at FROM ${tx.schema}.attempts o WHERE o.job_id = j.id
       ORDER BY o.ended_at DESC OFFSET ${maxAttempts} LIMIT 1)`,
    [jobIds],
  );
}

/** Call before the jobs are requeued. `error` is JSON text. */
export async function recordLost(
  tx: Queryable,
  now: Date,
  jobIds: string[],
  error: string | null,
): Promise<void> {
  await tx.query(
    `INSERT INTO ${tx.schema}.attempts (job_id, claim_id, outcome, started_at, ended_at, error)
     SELECT id, claim_id, 'lost', coalesce(started_at, $1), $1, $3 FROM ${tx.schema}.sync_jobs
     WHERE id = ANY ($2::uuid[]) AND claim_id IS NOT NULL
     ON CONFLICT (job_id, claim_id) DO NOTHING`,
    [now, jobIds, error],
  );
}

export interface AttemptRow {
  /** 1 is the oldest kept attempt. */
  number: number;
  claim_id: string;
  outcome: 'succeeded' | 'failed' | 'retried' | 'lost';
  started_at: Date;
  ended_at: Date;
  retry_after: Date | null;
  error: unknown;
  log: LogLine[] | null;
}

/** Oldest first. If errors and logs exceed a page, the oldest are omitted. */
export function findAttempts(db: Queryable, jobId: string): Promise<AttemptRow[]> {
  const page = `SELECT a.*, row_number() OVER (ORDER BY a.ended_at, a.claim_id)::int AS number
     FROM (SELECT * FROM ${db.schema}.attempts WHERE job_id = $1 ORDER BY ended_at DESC LIMIT $2) a
     ORDER BY a.ended_at DESC, a.claim_id DESC`;
  const cut = { columns: ['error', 'log'], order: 'p.ended_at DESC, p.claim_id DESC', above: '$2' } as const;
  return db.query<AttemptRow>(
    `SELECT number, claim_id, outcome, started_at, ended_at, retry_after, error, log
     FROM ${withinBytes(page, cut)} a ORDER BY number`,
    [jobId, 2 * maxAttempts + 1],
  );
}
