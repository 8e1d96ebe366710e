import { maxScheduleLength } from '../../values/limits.ts';
import type { Queryable } from '../database.ts';
import { sql } from '../sql.ts';
import { estimatedRows } from '../stats.ts';

/** One more shows truncation. */
const maxFound = 100;

const findOrphansSql = sql<{ id: string; process_id: string }>`
  SELECT j.id, j.process_id FROM (
    SELECT id, process_id FROM :schema.sync_jobs
    WHERE status = 'running' AND process_id IS NOT NULL AND updated_at < :before
    LIMIT 10000) j
  WHERE coalesce(
    (SELECT p.expires_at FROM :schema.processes p WHERE p.id = j.process_id), '-infinity') < :before
  LIMIT ${maxFound + 1}`;

export function findOrphans(tx: Queryable, before: Date): Promise<{ id: string; process_id: string }[]> {
  return findOrphansSql.all(tx, { before });
}

const findForeignRunsSql = sql<{ id: string; since: Date }>`
  SELECT id, coalesce(started_at, updated_at) AS since FROM (
    SELECT id, updated_at, started_at FROM :schema.sync_jobs WHERE status = 'running' AND process_id IS NULL
    LIMIT 10000) j
  WHERE coalesce(started_at, updated_at) < :before
  ORDER BY since LIMIT ${maxFound + 1}`;

/** Of other workers, started before `before`: Syncline's triggers and hints also change `updated_at`. */
export async function findForeignRuns(tx: Queryable, before: Date): Promise<{ id: string; since: Date }[]> {
  return findForeignRunsSql.all(tx, { before });
}

const findDuplicatePendingSql = sql<{ connection_id: string; what: string }>`
  WITH pending AS MATERIALIZED (
    SELECT connection_id, job_type, status FROM :schema.sync_jobs WHERE status IN ('queued', 'running')
    LIMIT 100000)
  SELECT connection_id, 'running' AS what FROM pending WHERE status = 'running'
  GROUP BY connection_id HAVING count(*) > 1
  UNION ALL
  SELECT connection_id, job_type FROM pending GROUP BY connection_id, job_type HAVING count(*) > 1
  LIMIT ${maxFound + 1}`;

/** EXE-3, DB-1: impossible with valid indexes. */
export function findDuplicatePending(tx: Queryable): Promise<{ connection_id: string; what: string }[]> {
  return findDuplicatePendingSql.all(tx);
}

const findWronglyBlockedSql = sql<{ id: string }>`
  SELECT DISTINCT q.connection_id AS id FROM (
    SELECT connection_id FROM :schema.sync_jobs WHERE status = 'queued' AND blocked LIMIT 10000) q
  WHERE (SELECT c.status FROM :schema.connections c WHERE c.id = q.connection_id) = 'active'
    AND (SELECT r.id FROM :schema.sync_jobs r
         WHERE r.connection_id = q.connection_id AND r.status = 'running' LIMIT 1) IS NULL
  LIMIT ${maxFound + 1}`;

export async function findWronglyBlocked(tx: Queryable): Promise<string[]> {
  const rows = await findWronglyBlockedSql.all(tx);
  return rows.map((row) => row.id);
}

const findSuspectsSql = sql<{ provider_slug: string; connections: number; example: string }>`
  SELECT provider_slug, count(*)::int AS connections, max(id::text) AS example FROM (
    SELECT id, provider_slug FROM :schema.connections
    WHERE losses IS NOT NULL AND jsonb_typeof(losses) = 'array' AND losses -> 1 IS NOT NULL
    LIMIT 10000) suspect
  GROUP BY 1 ORDER BY 2 DESC LIMIT 50`;

/** EXE-9: repeated crashes. */
export function findSuspects(
  tx: Queryable,
): Promise<{ provider_slug: string; connections: number; example: string }[]> {
  return findSuspectsSql.all(tx);
}

const findForeignJobsSql = sql<{ id: string }>`
  SELECT j.id FROM (
    SELECT id, tenant_id, provider_slug, connection_id FROM :schema.sync_jobs
    WHERE status IN ('queued', 'running') LIMIT 10000) j
  WHERE (SELECT c.id FROM :schema.connections c
         WHERE c.id = j.connection_id AND c.tenant_id = j.tenant_id
           AND c.provider_slug = j.provider_slug) IS NULL
  LIMIT ${maxFound + 1}`;

/** EXE-13: other tenant or provider, or no connection. */
export async function findForeignJobs(tx: Queryable): Promise<string[]> {
  const rows = await findForeignJobsSql.all(tx);
  return rows.map((row) => row.id);
}

/** Beyond it, a sample. */
const sampleSize = 20_000;

export interface SampledConnection {
  id: string;
  /** `waits_for_job` without a pending job. */
  waits_in_vain: boolean;
  metadata_type: string | null;
  sync_type: string | null;
  /** The scheduler's fields, truncated. */
  fields: Record<string, unknown> | null;
  /** JSON text, truncated. */
  schedule: string | null;
  is_due_at_wrong: boolean;
}

const sampleConnectionsSql = sql<SampledConnection>`
  SELECT c.id, jsonb_typeof(metadata) AS metadata_type, jsonb_typeof(metadata -> 'sync') AS sync_type,
    (SELECT jsonb_object_agg(
       key, CASE WHEN length(value::text) < 200 THEN value ELSE to_jsonb(left(value::text, 80)) END)
     FROM jsonb_each(
       CASE WHEN jsonb_typeof(metadata -> 'sync') = 'object' THEN metadata -> 'sync' ELSE '{}' END)
     WHERE key IN ('interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds')) AS fields,
    left(schedule::text, ${maxScheduleLength}) AS schedule,
    due_at <> coalesce(:schema.parse_instant(metadata #>> '{sync,next_run_at}'), '-infinity')
      AS is_due_at_wrong,
    waits_for_job AND (
      SELECT j.id FROM :schema.sync_jobs j
      WHERE j.connection_id = c.id AND j.job_type = 'incremental'
        AND j.status IN ('queued', 'running') LIMIT 1) IS NULL AS waits_in_vain
  FROM :schema.connections c TABLESAMPLE SYSTEM (:percent) LIMIT ${2 * sampleSize}`;

/** No index covers these checks. */
export async function sampleConnections(
  tx: Queryable,
): Promise<{ connections: SampledConnection[]; isWhole: boolean }> {
  const share = Math.min(1, sampleSize / Math.max(1, await estimatedRows(tx, 'connections')));
  const connections = await sampleConnectionsSql.all(tx, { percent: 100 * share });
  return { connections, isWhole: share === 1 && connections.length < 2 * sampleSize };
}

const maxWaitsSql = sql<{ slug: string; since: Date }>`
  SELECT p.slug, j.scheduled_at AS since FROM unnest(:providers::text[]) AS p (slug) CROSS JOIN LATERAL (
    SELECT scheduled_at FROM :schema.sync_jobs
    WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND provider_slug = p.slug
      AND priority = 0 AND scheduled_at < :before
    ORDER BY provider_slug, priority, scheduled_at LIMIT 1) j`;

export async function maxWaits(
  tx: Queryable,
  providers: readonly string[],
  before: Date,
): Promise<{ slug: string; since: Date }[]> {
  return maxWaitsSql.all(tx, { providers, before });
}

const oldestKeptSql = sql<{ endedJobs: Date | null; events: Date | null; signals: Date | null }>`
  SELECT
    (SELECT coalesce(finished_at, updated_at) FROM :schema.sync_jobs
     WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed')
     ORDER BY coalesce(finished_at, updated_at) LIMIT 1) AS "endedJobs",
    (SELECT created_at FROM :schema.events ORDER BY created_at LIMIT 1) AS events,
    (SELECT created_at FROM :schema.feed
     WHERE position IS NOT NULL AND batch <> '00000000-0000-0000-0000-000000000000'
     ORDER BY position LIMIT 1) AS signals`;

export async function oldestKept(
  tx: Queryable,
): Promise<{ endedJobs: Date | null; events: Date | null; signals: Date | null }> {
  const row = await oldestKeptSql.first(tx);
  return row ?? { endedJobs: null, events: null, signals: null };
}

const findUnplacedSignalsSql = sql<{ looked: number; unplaced: number }>`
  SELECT count(*)::int AS looked, (count(*) FILTER (WHERE position IS NULL))::int AS unplaced FROM (
    SELECT (SELECT f.position FROM :schema.feed f WHERE f.batch = s.batch) AS position
    FROM (SELECT batch FROM :schema.signals ORDER BY id DESC LIMIT 1000) s) newest`;

/** Consumers cannot read a batch without position. */
export async function findUnplacedSignals(tx: Queryable): Promise<{ looked: number; unplaced: number }> {
  const row = await findUnplacedSignalsSql.first(tx);
  return row ?? { looked: 0, unplaced: 0 };
}

const countRefusedSql = sql<{ refused: number }>`
  SELECT count(*)::int AS refused
  FROM (SELECT refused_at FROM :schema.credentials ORDER BY id DESC LIMIT 10000) c
  WHERE refused_at IS NOT NULL`;

/** Refused refreshes among the newest. */
export async function countRefused(tx: Queryable): Promise<number> {
  const row = await countRefusedSql.first(tx);
  return row?.refused ?? 0;
}
