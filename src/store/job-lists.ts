import type { Queryable } from './database.ts';
import { type JobStatus, type JobWithCursors, jobColumnsWithCursors } from './jobs.ts';
import { type Listed, withinBytes } from './page-bytes.ts';

type ListedJob = JobWithCursors & Listed;

/** Columns that count towards the page size. */
const largeColumns = ['cursor', 'next_cursor', 'error'];

export interface JobFilter {
  tenantId?: string | undefined;
  status?: JobStatus | undefined;
  provider?: string | undefined;
  type?: string | undefined;
  /** Id range [from, until); ids are ordered by time. */
  from?: string | undefined;
  until?: string | undefined;
}

/** Index conditions. */
const indexed = `($1::uuid IS NULL OR j.tenant_id = $1) AND (NOT $2::boolean OR j.status = 'failed')
  AND ($3::uuid IS NULL OR j.id >= $3) AND ($4::uuid IS NULL OR j.id < $4) AND ($5::uuid IS NULL OR j.id < $5)`;
/** Row filters. */
const filtered = (
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

/** Newest first; reads at most `scan` rows. */
export function listJobs(
  db: Queryable,
  filter: JobFilter,
  { before, limit, scan }: { before: string | undefined; limit: number; scan: number },
): Promise<ListedJob[]> {
  const page = `SELECT * FROM (SELECT * FROM ${db.tables.jobs} j WHERE ${indexed} ORDER BY j.id DESC LIMIT $9) j
     WHERE ${filtered(6)} ORDER BY j.id DESC LIMIT $10`;
  const cut = { columns: largeColumns, order: 'p.id DESC', above: '$10' } as const;
  return db.query<ListedJob>(
    `SELECT ${jobColumnsWithCursors(db)}, j.followed FROM ${withinBytes(page, cut)} j ORDER BY j.id DESC`,
    [...indexedValues(filter, before), filter.status, filter.provider, filter.type, scan, limit],
  );
}

/** The last row scanned; undefined at the end. */
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

export interface HistoryKey {
  ended: string;
  id: string;
}

const endedText = `coalesce(j.finished_at, j.updated_at)::text AS ended`;
const historyBefore = `j.connection_id = $1 AND ($2::timestamptz IS NULL OR coalesce(j.finished_at, j.updated_at) <= $2)
  AND ($2::timestamptz IS NULL OR (coalesce(j.finished_at, j.updated_at), j.id) < ($2, $3::uuid))`;
const historyOrder = 'coalesce(j.finished_at, j.updated_at) DESC, j.id DESC';
const orderOfPage = 'coalesce(p.finished_at, p.updated_at) DESC, p.id DESC';

/** By end or last update, newest first. */
export function listHistory(
  db: Queryable,
  connectionId: string,
  { tenantId, status, provider, type, from, until }: JobFilter,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<(ListedJob & HistoryKey)[]> {
  const page = `SELECT * FROM ${db.tables.jobs} j
     WHERE ${historyBefore} AND ${filtered(4)} AND ($7::uuid IS NULL OR j.id >= $7) AND ($8::uuid IS NULL OR j.id < $8)
       AND ($9::uuid IS NULL OR j.tenant_id = $9)
     ORDER BY ${historyOrder} LIMIT $10`;
  const cut = { columns: largeColumns, order: orderOfPage, above: '$10' } as const;
  return db.query<ListedJob & HistoryKey>(
    `SELECT ${jobColumnsWithCursors(db)}, ${endedText}, j.followed FROM ${withinBytes(page, cut)} j ORDER BY ${historyOrder}`,
    [connectionId, before?.ended, before?.id, status, provider, type, from, until, tenantId, limit],
  );
}

export interface StoredCursor extends HistoryKey, Listed {
  at: Date;
  /** JSON text. */
  next_cursor: string;
  /** The connection's current cursor. */
  current: boolean;
}

export function listCursors(
  db: Queryable,
  connectionId: string,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<StoredCursor[]> {
  const page = `SELECT j.id, j.connection_id, j.finished_at, j.updated_at, j.next_cursor FROM ${db.tables.jobs} j
     WHERE ${historyBefore} AND j.next_cursor IS NOT NULL ORDER BY ${historyOrder} LIMIT $4`;
  const cut = { columns: ['next_cursor'], order: orderOfPage, above: '$4' } as const;
  return db.query<StoredCursor>(
    `SELECT j.id, ${endedText}, coalesce(j.finished_at, j.updated_at) AS at, j.next_cursor::text AS next_cursor, j.followed,
       j.next_cursor IS NOT DISTINCT FROM (
         SELECT c.metadata #> '{sync,cursor}' FROM ${db.tables.connections} c WHERE c.id = j.connection_id) AS current
     FROM ${withinBytes(page, cut)} j ORDER BY ${historyOrder}`,
    [connectionId, before?.ended, before?.id, limit],
  );
}
