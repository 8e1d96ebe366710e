import type { Queryable } from './database.ts';
import { filtered, type JobFilter, type ListedJob, largeColumns } from './job-lists.ts';
import { isEnded, isPending } from './job-statuses.ts';
import { jobColumnsWithCursors } from './jobs.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql } from './sql.ts';

export interface HistoryKey {
  ended: string;
  id: string;
}

const historyBefore = `j.connection_id = :connectionId
  AND (:beforeEnded::timestamptz IS NULL OR coalesce(j.finished_at, j.updated_at) <= :beforeEnded)
  AND (:beforeEnded::timestamptz IS NULL
    OR (coalesce(j.finished_at, j.updated_at), j.id) < (:beforeEnded, :beforeId::uuid))`;
const orderOfPage = 'coalesce(p.finished_at, p.updated_at) DESC, p.id DESC';

const historyOrder = 'coalesce(j.finished_at, j.updated_at) DESC, j.id DESC';
const inHistory = `${historyBefore} AND ${filtered}
  AND (:from::uuid IS NULL OR j.id >= :from) AND (:until::uuid IS NULL OR j.id < :until)
  AND (:tenantId::uuid IS NULL OR j.tenant_id = :tenantId)`;

/** Pending jobs, one per type, are in another index. */
const historyPage = withinBytes(
  `SELECT * FROM (
     (SELECT * FROM :scope.sync_jobs j WHERE ${inHistory} AND j.${isPending})
     UNION ALL
     (SELECT * FROM :scope.sync_jobs j WHERE ${inHistory} AND j.${isEnded}
      ORDER BY ${historyOrder} LIMIT :limit)) j
   ORDER BY ${historyOrder} LIMIT :limit`,
  { columns: largeColumns, order: orderOfPage, above: ':limit' },
);
const listHistorySql = sql<ListedJob & HistoryKey>`
  SELECT ${jobColumnsWithCursors}, coalesce(j.finished_at, j.updated_at)::text AS ended, j.has_more
  FROM ${historyPage} j
  ORDER BY ${historyOrder}`;

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

export interface CursorRow extends HistoryKey, Listed {
  at: Date;
  /** JSON text. */
  next_cursor: string;
  /** The connection's current cursor. */
  current: boolean;
}

const withCursor = `
  SELECT j.id, j.connection_id, j.finished_at, j.updated_at, j.next_cursor FROM :scope.sync_jobs j
  WHERE ${historyBefore} AND j.next_cursor IS NOT NULL`;
const cursorsPage = withinBytes(
  `SELECT * FROM (
     (${withCursor} AND j.${isPending})
     UNION ALL
     (${withCursor} AND j.${isEnded} ORDER BY ${historyOrder} LIMIT :limit)) j
   ORDER BY ${historyOrder} LIMIT :limit`,
  { columns: ['next_cursor'], order: orderOfPage, above: ':limit' },
);
const listCursorsSql = sql<CursorRow>`
  SELECT j.id, coalesce(j.finished_at, j.updated_at)::text AS ended,
    coalesce(j.finished_at, j.updated_at) AS at, j.next_cursor::text AS next_cursor, j.has_more,
    j.next_cursor IS NOT DISTINCT FROM (
      SELECT c.metadata #> '{sync,cursor}' FROM :scope.connections c WHERE c.id = j.connection_id) AS current
  FROM ${cursorsPage} j
  ORDER BY ${historyOrder}`;

export function listCursors(
  db: Queryable,
  connectionId: string,
  { before, limit }: { before: HistoryKey | undefined; limit: number },
): Promise<CursorRow[]> {
  return listCursorsSql.all(db, {
    connectionId,
    beforeEnded: before?.ended,
    beforeId: before?.id,
    limit,
  });
}
