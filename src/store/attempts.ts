import type { Queryable } from './database.ts';
import { withinBytes } from './page-bytes.ts';
import { prepared, sql, unnest } from './sql.ts';

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

/** For jobs that fail for months. */
const maxAttempts = 100;

const insertAttemptsSql = prepared<object>`
  INSERT INTO :schema.attempts (ended_at, job_id, claim_id, outcome, started_at, retry_after, error, log)
  SELECT :now, a.*
  FROM ${unnest('a', {
    jobId: 'uuid',
    claimId: 'uuid',
    outcome: 'text',
    startedAt: 'timestamptz',
    retryAfter: 'timestamptz',
    error: 'jsonb',
    log: 'jsonb',
  })}
  ON CONFLICT (job_id, claim_id) DO NOTHING`;

export async function insertAttempts(tx: Queryable, now: Date, attempts: NewAttempt[]): Promise<void> {
  if (attempts.length === 0) return;
  await insertAttemptsSql.all(tx, { now, a: attempts });
}

const trimAttemptsSql = prepared<object>`
  DELETE FROM :schema.attempts a USING unnest(:jobIds::uuid[]) AS j (id)
  WHERE a.job_id = ANY (ARRAY[j.id]) AND a.ended_at <= (
    SELECT o.ended_at FROM :schema.attempts o WHERE o.job_id = j.id
    ORDER BY o.ended_at DESC OFFSET ${maxAttempts} LIMIT 1)`;

export async function trimAttempts(tx: Queryable, jobIds: string[]): Promise<void> {
  if (jobIds.length === 0) return;
  await trimAttemptsSql.all(tx, { jobIds });
}

const recordLostSql = sql<object>`
  INSERT INTO :schema.attempts (job_id, claim_id, outcome, started_at, ended_at, error)
  SELECT id, claim_id, 'lost', coalesce(started_at, :now), :now, :error FROM :schema.sync_jobs
  WHERE id = ANY (:jobIds::uuid[]) AND claim_id IS NOT NULL
  ON CONFLICT (job_id, claim_id) DO NOTHING`;

/** Call before requeuing. `error` is JSON text. */
export async function recordLost(
  tx: Queryable,
  now: Date,
  jobIds: string[],
  error: string | null,
): Promise<void> {
  await recordLostSql.all(tx, { now, jobIds, error });
}

export interface AttemptRow {
  /** 1 is the oldest kept attempt. */
  number: number;
  claim_id: string;
  outcome: 'succeeded' | 'failed' | 'retried' | 'lost';
  started_at: Date;
  ended_at: Date;
  retry_after: Date | null;
  /** JSON text. */
  error: string | null;
  log: LogLine[] | null;
}

const attemptsPage = withinBytes(
  `SELECT a.*, row_number() OVER (ORDER BY a.ended_at, a.claim_id)::int AS number
   FROM (SELECT * FROM :schema.attempts WHERE job_id = :jobId ORDER BY ended_at DESC LIMIT :limit) a
   ORDER BY a.ended_at DESC, a.claim_id DESC`,
  { columns: ['error', 'log'], order: 'p.ended_at DESC, p.claim_id DESC', above: ':limit' },
);
const findAttemptsSql = sql<AttemptRow>`
  SELECT number, claim_id, outcome, started_at, ended_at, retry_after, error::text AS error, log
  FROM ${attemptsPage} a ORDER BY number`;

/** Omits the oldest errors and logs beyond a page. */
export function findAttempts(db: Queryable, jobId: string): Promise<AttemptRow[]> {
  return findAttemptsSql.all(db, { jobId, limit: 2 * maxAttempts + 1 });
}
