import type { ConnectionHealth, ConnectionStatus } from '../contract/states.ts';
import { maxPageItems } from '../values/limits.ts';
import { uuidPattern } from '../values/uuid.ts';
import { type ConnectionRow, connectionColumns } from './connections.ts';
import type { Queryable } from './database.ts';
import type { JobRow } from './jobs.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { prepared, sql } from './sql.ts';

export interface ConnectionFilter {
  tenantId?: string | undefined;
  provider?: string | undefined;
  status?: ConnectionStatus | undefined;
  health?: ConnectionHealth | undefined;
  /** An id, or a prefix of external_id. */
  search?: string | undefined;
}

interface Walk {
  after: string | undefined;
  limit: number;
}

const indexed = `(:tenantId::uuid IS NULL OR c.listed_tenant_id = :tenantId)
  AND (:inactive::text IS NULL OR c.status = :inactive AND c.status <> 'active')
  AND (NOT :onlyFailing::boolean OR c.failing_since IS NOT NULL)
  AND (:externalId::text IS NULL OR c.listed_external_id LIKE :externalId)
  AND (:id::uuid IS NULL OR c.id = :id)
  AND (:after::uuid IS NULL OR c.id > :after AND c.listed_id > :after)`;

function filterValues({ tenantId, provider, status, health, search }: ConnectionFilter) {
  const isFailing = { ok: false, failing: true }[health as string];
  const healthStatus = isFailing === undefined ? health : 'active';
  const isId = search !== undefined && uuidPattern.test(search);
  return {
    tenantId,
    inactive: [status, healthStatus].find((value) => value !== undefined && value !== 'active'),
    onlyFailing: isFailing === true,
    externalId: search === undefined || isId ? null : `${search.replaceAll(/[\\%_]/g, '\\$&')}%`,
    id: isId ? search : null,
    provider,
    status,
    healthStatus,
    isFailing,
  };
}

const cut = {
  columns: ['metadata', 'config', 'external_id', 'failure'],
  order: 'p.id',
  above: ':limit',
} as const;

/** A constant limit, which every page fits: a parameter would let Postgres plan each execution. */
const pageAfter = (condition: string) =>
  withinBytes(
    `SELECT * FROM :scope.listed_connections c ${condition} ORDER BY c.id LIMIT ${maxPageItems + 1}`,
    cut,
  );
const firstConnections = pageAfter('');
const nextConnections = pageAfter('WHERE c.page_id > :after');
/** Most lists have no filter. */
const listFirstSql = prepared<ConnectionRow & Listed>`
  SELECT ${connectionColumns}, c.has_more FROM ${firstConnections} c ORDER BY c.id`;
const listNextSql = prepared<ConnectionRow & Listed>`
  SELECT ${connectionColumns}, c.has_more FROM ${nextConnections} c ORDER BY c.id`;

const matchingConnections = withinBytes(
  `SELECT * FROM (SELECT * FROM :scope.listed_connections c WHERE ${indexed} ORDER BY c.id LIMIT :scan) c
   WHERE (:provider::text IS NULL OR c.provider_slug = :provider)
     AND (:status::text IS NULL OR c.status = :status)
     AND (:healthStatus::text IS NULL OR c.status = :healthStatus)
     AND (:isFailing::boolean IS NULL OR (c.failing_since IS NOT NULL) = :isFailing)
   ORDER BY c.id LIMIT :limit`,
  cut,
);
const listMatchingSql = sql<ConnectionRow & Listed>`
  SELECT ${connectionColumns}, c.has_more FROM ${matchingConnections} c ORDER BY c.id`;

export function listConnections(
  db: Queryable,
  filter: ConnectionFilter,
  { after, limit, scan }: Walk & { scan: number },
): Promise<(ConnectionRow & Listed)[]> {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (isFiltered) return listMatchingSql.all(db, { ...filterValues(filter), after, limit, scan });
  return after === undefined ? listFirstSql.all(db, { limit }) : listNextSql.all(db, { after, limit });
}

const lastListedSql = sql<{ id: string }>`
  SELECT c.id FROM :scope.listed_connections c WHERE ${indexed} ORDER BY c.id OFFSET :offset LIMIT 1`;

export async function lastListed(
  db: Queryable,
  filter: ConnectionFilter,
  { after, scan }: { after: string | undefined; scan: number },
): Promise<string | undefined> {
  const row = await lastListedSql.first(db, { ...filterValues(filter), after, offset: scan - 1 });
  return row?.id;
}

export interface RecentRunRow {
  connection_id: string;
  id: string;
  status: JobRow['status'];
  ended_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  signal_count: number;
}

const recentRunsSql = sql<RecentRunRow>`
  SELECT r.* FROM unnest(:ids::uuid[]) WITH ORDINALITY AS c (id, n) CROSS JOIN LATERAL (
    SELECT j.connection_id, j.id, j.status, coalesce(j.finished_at, j.updated_at) AS ended_at, j.started_at,
      j.finished_at, j.signal_count
    FROM :scope.sync_jobs j
    WHERE j.connection_id = c.id AND j.status IN ('succeeded', 'failed', 'cancelled', 'completed')
    ORDER BY coalesce(j.finished_at, j.updated_at) DESC LIMIT :perConnection) r
  ORDER BY c.n, r.ended_at DESC`;

export function recentRuns(db: Queryable, ids: string[], perConnection: number): Promise<RecentRunRow[]> {
  return recentRunsSql.all(db, { ids, perConnection });
}
