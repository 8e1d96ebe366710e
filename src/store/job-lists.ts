import type { JobStatus } from '../contract/states.ts';
import type { Queryable } from './database.ts';
import { type JobWithCursors, jobColumnsWithCursors } from './jobs.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql } from './sql.ts';

type ListedJob = JobWithCursors & Listed;

/** Columns that count towards the page size. */
const largeColumns = ['cursor', 'next_cursor', 'error'];

export interface JobFilter {
  tenantId?: string | undefined;
  status?: JobStatus | undefined;
  provider?: string | undefined;
  type?: string | undefined;
  /** Id range [from, until), ordered by time. */
  from?: string | undefined;
  until?: string | undefined;
}

const indexed = `(:tenantId::uuid IS NULL OR j.tenant_id = :tenantId)
  AND (NOT :onlyFailed::boolean OR j.status = 'failed') AND (:from::uuid IS NULL OR j.id >= :from)
  AND (:until::uuid IS NULL OR j.id < :until) AND (:before::uuid IS NULL OR j.id < :before)`;

const filtered = `
  (:status::text IS NULL OR j.status = :status OR :status = 'succeeded' AND j.status = 'completed')
  AND (:provider::text IS NULL OR j.provider_slug = :provider)
    AND (:type::text IS NULL OR j.job_type = :type)`;

const jobsPage = withinBytes(
  `SELECT * FROM (SELECT * FROM :scope.sync_jobs j WHERE ${indexed} ORDER BY j.id DESC LIMIT :scan) j
   WHERE ${filtered} ORDER BY j.id DESC LIMIT :limit`,
  { columns: largeColumns, order: 'p.id DESC', above: ':limit' },
);
const listJobsSql = sql<ListedJob>`
  SELECT ${jobColumnsWithCursors}, j.has_more FROM ${jobsPage} j ORDER BY j.id DESC`;

/** Newest first. */
export function listJobs(
  db: Queryable,
  { tenantId, status, provider, type, from, until }: JobFilter,
  { before, limit, scan }: { before: string | undefined; limit: number; scan: number },
): Promise<ListedJob[]> {
  const onlyFailed = status === 'failed';
  return listJobsSql.all(db, {
    tenantId,
    onlyFailed,
    from,
    until,
    before,
    status,
    provider,
    type,
    scan,
    limit,
  });
}

const lastJobListedSql = sql<{ id: string }>`
  SELECT j.id FROM :scope.sync_jobs j WHERE ${indexed} ORDER BY j.id DESC OFFSET :offset LIMIT 1`;

export async function lastJobListed(
  db: Queryable,
  { tenantId, status, from, until }: JobFilter,
  { before, scan }: { before: string | undefined; scan: number },
): Promise<string | undefined> {
  const onlyFailed = status === 'failed';
  const offset = scan - 1;
  const row = await lastJobListedSql.first(db, { tenantId, onlyFailed, from, until, before, offset });
  return row?.id;
}

export interface HistoryKey {
  ended: string;
  id: string;
}

const historyBefore = `j.connection_id = :connectionId
  AND (:beforeEnded::timestamptz IS NULL OR coalesce(j.finished_at, j.updated_at) <= :beforeEnded)
  AND (:beforeEnded::timestamptz IS NULL
    OR (coalesce(j.finished_at, j.updated_at), j.id) < (:beforeEnded, :beforeId::uuid))`;
const orderOfPage = 'coalesce(p.finished_at, p.updated_at) DESC, p.id DESC';

const historyPage = withinBytes(
  `SELECT * FROM :scope.sync_jobs j
   WHERE ${historyBefore} AND ${filtered}
     AND (:from::uuid IS NULL OR j.id >= :from) AND (:until::uuid IS NULL OR j.id < :until)
     AND (:tenantId::uuid IS NULL OR j.tenant_id = :tenantId)
   ORDER BY coalesce(j.finished_at, j.updated_at) DESC, j.id DESC LIMIT :limit`,
  { columns: largeColumns, order: orderOfPage, above: ':limit' },
);
const listHistorySql = sql<ListedJob & HistoryKey>`
  SELECT ${jobColumnsWithCursors}, coalesce(j.finished_at, j.updated_at)::text AS ended, j.has_more
  FROM ${historyPage} j
  ORDER BY coalesce(j.finished_at, j.updated_at) DESC, j.id DESC`;

/** By end or last update, newest first. */
export function listHistory(
  db: Queryable,
  connectionId: string,
  { tenantId, status, provider, type, from, until }: JobFilter,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<(ListedJob & HistoryKey)[]> {
  return listHistorySql.all(db, {
    connectionId,
    beforeEnded: before?.ended,
    beforeId: before?.id,
    status,
    provider,
    type,
    from,
    until,
    tenantId,
    limit,
  });
}

export interface StoredCursor extends HistoryKey, Listed {
  at: Date;
  /** JSON text. */
  next_cursor: string;
  /** The connection's current cursor. */
  current: boolean;
}

const cursorsPage = withinBytes(
  `SELECT j.id, j.connection_id, j.finished_at, j.updated_at, j.next_cursor FROM :scope.sync_jobs j
   WHERE ${historyBefore} AND j.next_cursor IS NOT NULL
   ORDER BY coalesce(j.finished_at, j.updated_at) DESC, j.id DESC LIMIT :limit`,
  { columns: ['next_cursor'], order: orderOfPage, above: ':limit' },
);
const listCursorsSql = sql<StoredCursor>`
  SELECT j.id, coalesce(j.finished_at, j.updated_at)::text AS ended,
    coalesce(j.finished_at, j.updated_at) AS at, j.next_cursor::text AS next_cursor, j.has_more,
    j.next_cursor IS NOT DISTINCT FROM (
      SELECT c.metadata #> '{sync,cursor}' FROM :scope.connections c WHERE c.id = j.connection_id) AS current
  FROM ${cursorsPage} j
  ORDER BY coalesce(j.finished_at, j.updated_at) DESC, j.id DESC`;

export function listCursors(
  db: Queryable,
  connectionId: string,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<StoredCursor[]> {
  return listCursorsSql.all(db, {
    connectionId,
    beforeEnded: before?.ended,
    beforeId: before?.id,
    limit,
  });
}
