import type { ConnectionHealth } from '../contract/states.ts';
import { maxErrorLength, maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { isEnded, isPending } from './job-statuses.ts';
import { type Statement, sql } from './sql.ts';

export const maxCounted = 10_000;

/** `atLeast`: reached the cap. */
export interface Count {
  count: number;
  atLeast: boolean;
}

const capped = (rows: number): Count => ({
  count: Math.min(rows, maxCounted),
  atLeast: rows > maxCounted,
});

async function countRows(
  db: Queryable,
  statement: Statement<{ rows: number }>,
  values?: Record<string, unknown>,
): Promise<Count> {
  return capped((await statement.first(db, values))?.rows ?? 0);
}

export type ConnectionCounts = Record<
  'total' | 'ok' | 'failing' | 'needsAuth' | 'paused' | 'disabled',
  Count
>;

const countConnectionsSql = sql<{ health: ConnectionHealth; connections: number }>`
  SELECT CASE WHEN status <> 'active' THEN status WHEN failing THEN 'failing' ELSE 'ok' END AS health,
    count(*)::int AS connections
  FROM (SELECT status, failing_since IS NOT NULL AS failing FROM :scope.listed_connections c
        LIMIT ${maxCounted + 1}) seen
  GROUP BY 1`;

const countInactiveSql = sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT 1 FROM :scope.listed_connections c WHERE status = :status AND status <> 'active'
    LIMIT ${maxCounted + 1}) counted`;
const countFailingSql = sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT 1 FROM :scope.listed_connections c WHERE failing_since IS NOT NULL AND status = 'active'
    LIMIT ${maxCounted + 1}) counted`;

/** Beyond the cap, partial indexes count unhealthy ones. */
export async function countConnections(db: Queryable): Promise<ConnectionCounts> {
  const rows = await countConnectionsSql.all(db);
  const found = new Map(rows.map((row) => [row.health, row.connections]));
  const total = capped(rows.reduce((sum, row) => sum + row.connections, 0));
  const exact = (health: ConnectionHealth): Count => ({
    count: found.get(health) ?? 0,
    atLeast: false,
  });
  if (!total.atLeast)
    return {
      total,
      ok: exact('ok'),
      failing: exact('failing'),
      needsAuth: exact('needs_auth'),
      paused: exact('paused'),
      disabled: exact('disabled'),
    };
  const inactive = (status: 'needs_auth' | 'paused' | 'disabled') =>
    countRows(db, countInactiveSql, { status });
  return {
    total,
    ok: { count: found.get('ok') ?? 0, atLeast: true },
    failing: await countRows(db, countFailingSql),
    needsAuth: await inactive('needs_auth'),
    paused: await inactive('paused'),
    disabled: await inactive('disabled'),
  };
}

export type QueueCounts = Record<'due' | 'backingOff' | 'blocked' | 'running', Count>;

const countDueSql = sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT 1 FROM :schema.sync_jobs
    WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at <= :now
    LIMIT ${maxCounted + 1}) counted`;
const countBackingOffSql = sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT 1 FROM :schema.sync_jobs WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL
    LIMIT ${maxCounted + 1}) counted`;
const countBlockedSql = sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT 1 FROM :schema.sync_jobs WHERE status = 'queued' AND blocked LIMIT ${maxCounted + 1}) counted`;
const countRunningSql = sql<{ rows: number }>`
  SELECT count(*)::int AS rows FROM (
    SELECT 1 FROM :schema.sync_jobs WHERE status = 'running' LIMIT ${maxCounted + 1}) counted`;

/** Of all tenants. */
export async function countQueue(db: Queryable, now: Date): Promise<QueueCounts> {
  return {
    due: await countRows(db, countDueSql, { now }),
    backingOff: await countRows(db, countBackingOffSql),
    blocked: await countRows(db, countBlockedSql),
    running: await countRows(db, countRunningSql),
  };
}

export interface TroubleRow {
  provider_slug: string;
  failure: string | null;
  connections: number;
  since: Date;
  example: string;
}

const failingGroupsSql = sql<TroubleRow>`
  SELECT left(provider_slug, ${maxNameLength}) AS provider_slug, left(failure, ${maxNameLength}) AS failure,
    count(*)::int AS connections, min(failing_since) AS since,
    max(id::text)::uuid AS example
  FROM (SELECT id, provider_slug, failure, failing_since FROM :scope.listed_connections c
        WHERE failing_since IS NOT NULL AND status = 'active' LIMIT ${maxCounted + 1}) failing
  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 50`;

export function failingGroups(db: Queryable): Promise<TroubleRow[]> {
  return failingGroupsSql.all(db);
}

const refusedGroupsSql = sql<TroubleRow>`
  SELECT left(provider_slug, ${maxNameLength}) AS provider_slug,
    CASE WHEN is_new THEN 'no_credential' ELSE 'unauthorized' END AS failure,
    count(*)::int AS connections, min(updated_at) AS since, max(id::text)::uuid AS example
  FROM (SELECT id, provider_slug, updated_at,
          credential_id IS NULL AND last_incremental_ended_at IS NULL AS is_new
        FROM :scope.listed_connections c
        WHERE status = 'needs_auth' AND status <> 'active' LIMIT ${maxCounted + 1}) refused
  GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 50`;

/** Credential refused, or none yet. */
export function refusedGroups(db: Queryable): Promise<TroubleRow[]> {
  return refusedGroupsSql.all(db);
}

const overdueConnectionsSql = sql<{ connections: number; since: Date | null }>`
  SELECT count(*)::int AS connections, min(nullif(due_at, '-infinity')) AS since
  FROM (SELECT due_at FROM :scope.listed_connections c
        WHERE status = 'active' AND NOT waits_for_job AND due_at <= :before AND updated_at <= :before
        LIMIT ${maxCounted + 1}) overdue`;

/** Without recently created or resumed ones. */
export async function overdueConnections(
  db: Queryable,
  before: Date,
): Promise<Count & { since: Date | null }> {
  const row = await overdueConnectionsSql.first(db, { before });
  return { ...capped(row?.connections ?? 0), since: row?.since ?? null };
}

const lastErrorsSql = sql<{ id: string; message: string }>`
  SELECT c.id, left(j.error ->> 'message', ${maxErrorLength}) AS message
  FROM unnest(:connectionIds::uuid[]) AS c (id) CROSS JOIN LATERAL (
    SELECT error FROM (
      (SELECT error, updated_at AS at FROM :scope.sync_jobs j
       WHERE j.connection_id = c.id AND j.${isPending} AND j.error IS NOT NULL)
      UNION ALL
      (SELECT error, coalesce(j.finished_at, j.updated_at) FROM :scope.sync_jobs j
       WHERE j.connection_id = c.id AND j.${isEnded} AND j.error IS NOT NULL
       ORDER BY coalesce(j.finished_at, j.updated_at) DESC LIMIT 1)) j
    ORDER BY at DESC LIMIT 1) j`;

export async function lastErrors(db: Queryable, connectionIds: string[]): Promise<Map<string, string>> {
  const rows = await lastErrorsSql.all(db, { connectionIds });
  return new Map(rows.map((row) => [row.id, row.message]));
}

/** Beyond it, a sample. */
const sampleSize = 20_000;

export interface DueGroup {
  at: Date;
  /** JSON text, unvalidated. */
  interval: string | null;
  connections: number;
}

const dueGroup = `
  SELECT date_bin('1 minute', greatest(due_at, :from), :from) AS at,
    left((metadata #> '{sync,interval_seconds}')::text, 20) AS interval, count(*)::int AS connections`;
const dueGroupsSql = sql<DueGroup>`
  ${dueGroup}
  FROM (SELECT * FROM :scope.listed_connections c ORDER BY id LIMIT ${sampleSize}) c
  WHERE status = 'active' AND due_at < :to GROUP BY 1, 2`;
const sampledDueGroupsSql = sql<DueGroup>`
  ${dueGroup}
  FROM :schema.connections c TABLESAMPLE SYSTEM (:percent)
  WHERE status = 'active' AND due_at < :to GROUP BY 1, 2`;

/** `share` is the sampled fraction. */
export async function dueGroups(
  db: Queryable,
  { from, to, isWhole }: { from: Date; to: Date; isWhole: boolean },
): Promise<{ groups: DueGroup[]; share: number }> {
  const estimate = isWhole ? await estimatedRows(db, 'connections') : 0;
  const share = Math.min(1, sampleSize / Math.max(1, estimate));
  const groups =
    share < 1
      ? await sampledDueGroupsSql.all(db, { from, to, percent: 100 * share })
      : await dueGroupsSql.all(db, { from, to });
  return { groups, share };
}

const estimatedRowsSql = sql<{ rows: number }>`
  SELECT greatest(reltuples, 0)::float8 AS rows FROM pg_class WHERE oid = :relation::regclass`;

export async function estimatedRows(db: Queryable, table: string): Promise<number> {
  const row = await estimatedRowsSql.first(db, { relation: `${db.schema}.${table}` });
  return row?.rows ?? 0;
}

export interface TableRow {
  name: string;
  bytes: number;
  rows_estimate: number;
  dead_rows_estimate: number;
  last_vacuum_at: Date | null;
}

const tableSizesSql = sql<TableRow>`
  SELECT c.relname AS name, pg_total_relation_size(c.oid)::float8 AS bytes,
    greatest(c.reltuples, 0)::float8 AS rows_estimate,
    coalesce(s.n_dead_tup, 0)::float8 AS dead_rows_estimate,
    greatest(s.last_vacuum, s.last_autovacuum) AS last_vacuum_at
  FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
  WHERE c.relnamespace = :schemaName::regnamespace AND c.relkind IN ('r', 'p') ORDER BY bytes DESC LIMIT 100`;

export function tableSizes(db: Queryable): Promise<TableRow[]> {
  return tableSizesSql.all(db, { schemaName: db.schema });
}

const databaseBytesSql = sql<{ bytes: number }>`
  SELECT pg_database_size(current_database())::float8 AS bytes`;

export async function databaseBytes(db: Queryable): Promise<number> {
  const row = await databaseBytesSql.first(db);
  return row?.bytes ?? 0;
}

const runningByProcessSql = sql<{ id: string; running: number }>`
  SELECT process_id AS id, count(*)::int AS running
  FROM (SELECT process_id FROM :schema.sync_jobs WHERE status = 'running' AND process_id IS NOT NULL
        LIMIT ${maxCounted}) r
  GROUP BY 1`;

export async function runningByProcess(db: Queryable): Promise<Map<string, number>> {
  const rows = await runningByProcessSql.all(db);
  return new Map(rows.map((row) => [row.id, row.running]));
}
