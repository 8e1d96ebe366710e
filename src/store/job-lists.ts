import type { JobStatus } from '../contract/states.ts';
import type { Queryable } from './database.ts';
import { isEnded, isPending } from './job-statuses.ts';
import { type JobWithCursors, jobColumnsWithCursors } from './jobs.ts';
import { type Listed, withinBytes } from './page-bytes.ts';
import { sql } from './sql.ts';

export type ListedJob = JobWithCursors & Listed;

export const largeColumns = ['cursor', 'next_cursor', 'error'];

export interface JobFilter {
  tenantId?: string | undefined;
  status?: JobStatus | undefined;
  provider?: string | undefined;
  type?: string | undefined;
  /** Id range [from, until), ordered by time. */
  from?: string | undefined;
  until?: string | undefined;
}

export interface JobWalk {
  list(before: string | undefined, bounds: { limit: number; scan: number }): Promise<ListedJob[]>;
  /** Where reading stopped; undefined: at the end. */
  last(before: string | undefined, scan: number): Promise<string | undefined>;
  /** Reads unlisted rows too: a short page need not be the last. */
  skipsRows: boolean;
}

/** `ownerId`: undefined lists all tenants. */
export async function jobWalk(
  db: Queryable,
  filter: JobFilter,
  ownerId: string | undefined,
): Promise<JobWalk> {
  if (ownerId === undefined) return walkAll(db, filter);
  const { status } = filter;
  const onlyPending = status === 'queued' || status === 'running';
  const withPending = onlyPending || status === undefined;
  if (withPending && (await isLarge(db, ownerId))) return walkLargeTenant(db, filter);
  return walkTenant(db, filter, { ownerId, withPending, withEnded: !onlyPending });
}

const inRange = `(:from::uuid IS NULL OR j.id >= :from) AND (:until::uuid IS NULL OR j.id < :until)
  AND (:before::uuid IS NULL OR j.id < :before)`;
const indexed = `(:tenantId::uuid IS NULL OR j.tenant_id = :tenantId)
  AND (NOT :onlyFailed::boolean OR j.status = 'failed') AND ${inRange}`;

export const filtered = `
  (:status::text IS NULL OR j.status = :status OR :status = 'succeeded' AND j.status = 'completed')
  AND (:provider::text IS NULL OR j.provider_slug = :provider)
    AND (:type::text IS NULL OR j.job_type = :type)`;

const pageCut = { columns: largeColumns, order: 'p.id DESC', above: ':limit' } as const;

const jobsPage = withinBytes(
  `SELECT * FROM (SELECT * FROM :scope.sync_jobs j WHERE ${indexed} ORDER BY j.id DESC LIMIT :scan) j
   WHERE ${filtered} ORDER BY j.id DESC LIMIT :limit`,
  pageCut,
);
const listJobsSql = sql<ListedJob>`
  SELECT ${jobColumnsWithCursors}, j.has_more FROM ${jobsPage} j ORDER BY j.id DESC`;
const lastJobListedSql = sql<{ id: string }>`
  SELECT j.id FROM :scope.sync_jobs j WHERE ${indexed} ORDER BY j.id DESC OFFSET :offset LIMIT 1`;

const valuesOf = ({ tenantId, status, provider, type, from, until }: JobFilter) => ({
  tenantId,
  status,
  provider,
  type,
  from,
  until,
  onlyFailed: status === 'failed',
});

function walkAll(db: Queryable, filter: JobFilter): JobWalk {
  const values = valuesOf(filter);
  return {
    skipsRows: false,
    list: (before, bounds) => listJobsSql.all(db, { ...values, before, ...bounds }),
    last: async (before, scan) =>
      (await lastJobListedSql.first(db, { ...values, before, offset: scan - 1 }))?.id,
  };
}

/** More would exceed the rows a page may read. */
const maxLookups = 5000;

const connectionsOfTenant =
  'SELECT c.id FROM :scope.listed_connections c WHERE c.listed_tenant_id = :ownerId';

const countConnectionsSql = sql<{ connections: number }>`
  SELECT count(*)::int AS connections FROM (${connectionsOfTenant} LIMIT :limit) c`;

async function isLarge(db: Queryable, ownerId: string): Promise<boolean> {
  const row = await countConnectionsSql.first(db, { ownerId, limit: maxLookups + 1 });
  return (row?.connections ?? 0) > maxLookups;
}

/**
 * The tenant index has only ended jobs; pending ones, one per type, are found by connection. In one snapshot,
 * a job is in one of the two.
 */
const tenantJobs = `(
  (SELECT p.* FROM (${connectionsOfTenant}) c CROSS JOIN LATERAL (
     SELECT * FROM :scope.sync_jobs j
     WHERE j.connection_id = c.id AND j.${isPending} AND j.tenant_id = :ownerId AND ${inRange}
     LIMIT 3) p
   WHERE :withPending::boolean)
  UNION ALL
  (SELECT * FROM :scope.sync_jobs j
   WHERE j.tenant_id = :ownerId AND j.${isEnded} AND ${indexed} AND :withEnded::boolean
   ORDER BY j.id DESC LIMIT :scan))`;

const tenantPage = withinBytes(
  `SELECT * FROM (SELECT * FROM ${tenantJobs} j ORDER BY j.id DESC LIMIT :scan) j
   WHERE ${filtered} ORDER BY j.id DESC LIMIT :limit`,
  pageCut,
);
const listTenantJobsSql = sql<ListedJob>`
  SELECT ${jobColumnsWithCursors}, j.has_more FROM ${tenantPage} j ORDER BY j.id DESC`;
const lastTenantJobListedSql = sql<{ id: string }>`
  SELECT j.id FROM ${tenantJobs} j ORDER BY j.id DESC OFFSET :scan::int - 1 LIMIT 1`;

function walkTenant(
  db: Queryable,
  filter: JobFilter,
  owner: { ownerId: string; withPending: boolean; withEnded: boolean },
): JobWalk {
  const values = { ...valuesOf(filter), ...owner };
  return {
    skipsRows: false,
    list: (before, bounds) => listTenantJobsSql.all(db, { ...values, before, ...bounds }),
    last: async (before, scan) => (await lastTenantJobListedSql.first(db, { ...values, before, scan }))?.id,
  };
}

const scanEndSql = sql<{ id: string }>`
  SELECT j.id FROM :schema.sync_jobs j WHERE ${inRange} ORDER BY j.id DESC OFFSET :offset LIMIT 1`;

/** No random part: a cursor must not reveal another tenant's job id. */
const positionOf = (id: string) => id.slice(0, 19).concat('0000-000000000000');

/** Reads `scan` jobs of all tenants. */
function walkLargeTenant(db: Queryable, filter: JobFilter): JobWalk {
  const values = valuesOf(filter);
  let end: string | undefined;
  return {
    skipsRows: true,
    list: async (before, bounds) => {
      const { from, until } = filter;
      const row = await scanEndSql.first(db, { from, until, before, offset: bounds.scan - 1 });
      end = row && positionOf(row.id);
      return listJobsSql.all(db, { ...values, from: end ?? from, before, ...bounds });
    },
    last: async () => end,
  };
}
