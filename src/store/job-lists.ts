import type { Queryable } from './database.ts';
import { type JobRow, type JobStatus, jobColumns } from './jobs.ts';

export interface JobFilter {
  tenantId?: string | undefined;
  status?: JobStatus | undefined;
  provider?: string | undefined;
  type?: string | undefined;
  /** Ids from this one on, and before that one: ids are in the order of time. */
  from?: string | undefined;
  until?: string | undefined;
}

/** Conditions that an index answers: what they let through is read by ids, newest first. */
const indexed = `($1::uuid IS NULL OR j.tenant_id = $1) AND (NOT $2::boolean OR j.status = 'failed')
  AND ($3::uuid IS NULL OR j.id >= $3) AND ($4::uuid IS NULL OR j.id < $4) AND ($5::uuid IS NULL OR j.id < $5)`;
/** The rest, looked at row by row. */
const looked = (
  from: number,
) => `($${from}::text IS NULL OR j.status = $${from} OR $${from} = 'succeeded' AND j.status = 'completed')
  AND ($${from + 1}::text IS NULL OR j.provider_slug = $${from + 1}) AND ($${from + 2}::text IS NULL OR j.job_type = $${from + 2})`;

const indexedValues = ({ tenantId, status, from, until }: JobFilter, before: string | undefined) => [
  tenantId,
  status === 'failed',
  from,
  until,
  before,
];

/** Jobs of all connections, newest first, of a bounded number that is looked at. */
export function listJobs(
  db: Queryable,
  filter: JobFilter,
  { before, limit, scan }: { before: string | undefined; limit: number; scan: number },
): Promise<JobRow[]> {
  return db.query<JobRow>(
    `SELECT ${jobColumns(db)} FROM (SELECT * FROM ${db.tables.jobs} j WHERE ${indexed} ORDER BY j.id DESC LIMIT $9) j
     WHERE ${looked(6)} ORDER BY j.id DESC LIMIT $10`,
    [...indexedValues(filter, before), filter.status, filter.provider, filter.type, scan, limit],
  );
}

/** The last of the jobs that such a list looked at; undefined if it came to the end. */
export async function lastJobListed(
  db: Queryable,
  filter: JobFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const [row] = await db.query<{ id: string }>(
    `SELECT j.id FROM ${db.tables.jobs} j WHERE ${indexed} ORDER BY j.id DESC OFFSET $6 LIMIT 1`,
    [...indexedValues(filter, before), scan - 1],
  );
  return row?.id;
}

/** A place in the history of a connection. */
export interface HistoryKey {
  ended: string;
  id: string;
}

const endedText = `coalesce(j.finished_at, j.updated_at)::text AS ended`;
const historyBefore = `j.connection_id = $1 AND ($2::timestamptz IS NULL OR coalesce(j.finished_at, j.updated_at) <= $2)
  AND ($2::timestamptz IS NULL OR (coalesce(j.finished_at, j.updated_at), j.id) < ($2, $3::uuid))`;
const historyOrder = 'coalesce(j.finished_at, j.updated_at) DESC, j.id DESC';

/** The jobs of a connection by when they last changed, newest first. */
export function listHistory(
  db: Queryable,
  connectionId: string,
  { tenantId, status, provider, type, from, until }: JobFilter,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<(JobRow & HistoryKey)[]> {
  return db.query<JobRow & HistoryKey>(
    `SELECT ${jobColumns(db)}, ${endedText} FROM ${db.tables.jobs} j
     WHERE ${historyBefore} AND ${looked(4)} AND ($7::uuid IS NULL OR j.id >= $7) AND ($8::uuid IS NULL OR j.id < $8)
       AND ($9::uuid IS NULL OR j.tenant_id = $9)
     ORDER BY ${historyOrder} LIMIT $10`,
    [connectionId, before?.ended, before?.id, status, provider, type, from, until, tenantId, limit],
  );
}

export interface StoredCursor extends HistoryKey {
  at: Date;
  next_cursor: unknown;
}

/** The cursors that a connection's jobs stored, newest first. */
export function listCursors(
  db: Queryable,
  connectionId: string,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<StoredCursor[]> {
  return db.query<StoredCursor>(
    `SELECT j.id, ${endedText}, coalesce(j.finished_at, j.updated_at) AS at, j.next_cursor FROM ${db.tables.jobs} j
     WHERE ${historyBefore} AND j.next_cursor IS NOT NULL ORDER BY ${historyOrder} LIMIT $4`,
    [connectionId, before?.ended, before?.id, limit],
  );
}
