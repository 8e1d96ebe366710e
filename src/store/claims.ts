import type { JobType } from '../contract/states.ts';
import type { Queryable, Transaction } from './database.ts';
import { prepared, sql, unnest } from './sql.ts';

/** Locked, with its connection. */
export interface ReadyRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_type: JobType;
  priority: number;
  attempts: number;
  scheduled_at: Date;
  /** JSON text, like config and metadata: most runs read only one. */
  cursor: string | null;
  connection_status: string;
  /** Tenant or provider differs from the connection's. */
  is_foreign: boolean;
  external_id: string | null;
  credential_id: string | null;
  was_parked: boolean;
  has_siblings: boolean;
  config: string;
  metadata: string | null;
  last_incremental_ended_at: Date | null;
  /** See schedule/losses.ts. */
  losses: unknown;
}

export interface Lane {
  slug: string;
  priority: number;
  /** A `scheduled_at`, as timestamptz text. */
  from: string;
}

/**
 * Skip scan for the first job of each (provider, priority); reads no future jobs. Walks dead index entries of
 * an old snapshot once. Matches the predicate of idx_sync_jobs_ready.
 */
const scannedLanes = `
  lane AS (
    SELECT p.slug, first.priority, first.scheduled_at
    FROM unnest(:providers::text[]) AS p (slug) CROSS JOIN LATERAL (
      SELECT priority, scheduled_at FROM :schema.sync_jobs
      WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND provider_slug = p.slug
      ORDER BY provider_slug, priority, scheduled_at LIMIT 1) first
    UNION ALL
    SELECT l.slug, next.priority, next.scheduled_at
    FROM lane l CROSS JOIN LATERAL (
      SELECT j.priority, j.scheduled_at FROM :schema.sync_jobs j
      WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL
        AND j.provider_slug = l.slug AND j.priority > l.priority
      ORDER BY j.provider_slug, j.priority, j.scheduled_at LIMIT 1) next
  )`;

const resumedLanes = `
  lane AS (SELECT * FROM ${unnest('l', { slug: 'text', priority: 'smallint', scheduledAt: 'timestamptz' })})`;

const lockedReady = `
  share AS MATERIALIZED (
    SELECT slug, priority, since, count(*) AS jobs FROM (
      SELECT l.slug, l.priority, l.scheduled_at AS since FROM lane l CROSS JOIN LATERAL (
        SELECT scheduled_at FROM :schema.sync_jobs
        WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL
          AND provider_slug = l.slug AND priority = l.priority
          AND scheduled_at BETWEEN l.scheduled_at AND :now
        ORDER BY provider_slug, priority, scheduled_at LIMIT :limit) j
      ORDER BY l.priority DESC, j.scheduled_at
      LIMIT CASE WHEN :scanAll THEN NULL ELSE :limit::int END) first
    GROUP BY slug, priority, since
  )
  SELECT locked.* FROM share l CROSS JOIN LATERAL (
    SELECT j.id, j.tenant_id, j.provider_slug, j.connection_id, j.job_type, j.priority, j.attempts,
      j.scheduled_at, j.cursor::text, (j.error -> 'parked') IS NOT NULL AS was_parked,
      (SELECT s.id FROM :schema.sync_jobs s
       WHERE s.connection_id = j.connection_id AND s.status IN ('queued', 'running') AND s.id <> j.id
       LIMIT 1) IS NOT NULL AS has_siblings,
      j.tenant_id <> c.tenant_id OR j.provider_slug <> c.provider_slug AS is_foreign,
      c.status AS connection_status, c.external_id, c.credential_id, c.config::text, c.metadata::text,
      c.last_incremental_ended_at, c.losses
    FROM :schema.sync_jobs j JOIN :schema.connections c ON c.id = ANY (ARRAY[j.connection_id])
    WHERE j.status = 'queued' AND NOT j.blocked AND j.retry_after IS NULL
      AND j.provider_slug = l.slug AND j.priority = l.priority AND j.scheduled_at BETWEEN l.since AND :now
    ORDER BY j.provider_slug, j.priority, j.scheduled_at
    LIMIT CASE WHEN :scanAll THEN :limit::int ELSE l.jobs END
    FOR NO KEY UPDATE OF j, c SKIP LOCKED) locked`;

const lockReadySql = prepared<ReadyRow>`WITH RECURSIVE ${scannedLanes}, ${lockedReady}`;
const lockReadyFromSql = prepared<ReadyRow>`WITH RECURSIVE ${resumedLanes}, ${lockedReady}`;

export interface ReadyRequest {
  now: Date;
  providers: readonly string[];
  limit: number;
  /** Scan `limit` jobs per lane: other transactions hold the first. */
  scanAll?: boolean;
  lanes?: readonly Lane[] | undefined;
}

/**
 * EXE-1, EXE-2. Computes each lane's share first, to lock at most `limit` rows (`scanAll`: per lane).
 * `markRunning` checks EXE-3 with a snapshot taken after the locks.
 */
export function lockReady(
  tx: Queryable,
  { now, providers, limit, scanAll = false, lanes }: ReadyRequest,
): Promise<ReadyRow[]> {
  const request = { now, limit, scanAll };
  return lanes
    ? lockReadyFromSql.all(tx, {
        ...request,
        l: lanes.map(({ from, ...lane }) => ({ ...lane, scheduledAt: from })),
      })
    : lockReadySql.all(tx, { ...request, providers });
}

const findLanesSql = prepared<{ slug: string; priority: number; scheduled_at: Date }>`
  WITH RECURSIVE ${scannedLanes} SELECT slug, priority, scheduled_at FROM lane`;

/** With the time of each lane's first job. */
export function findLanes(
  tx: Queryable,
  providers: readonly string[],
): Promise<{ slug: string; priority: number; scheduled_at: Date }[]> {
  return findLanesSql.all(tx, { providers });
}

const markRunningSql = prepared<{ id: string }>`
  WITH alive AS MATERIALIZED (
    SELECT id FROM :schema.processes
    WHERE id = :processId AND expires_at > :now FOR KEY SHARE
  )
  UPDATE :schema.sync_jobs j
  SET status = 'running', started_at = :now, updated_at = :now, process_id = :processId, claim_id = :claimId,
      hinted = j.hinted AND j.cursor IS NOT NULL
  WHERE j.id = ANY (:ids::uuid[]) AND (SELECT id FROM alive) IS NOT NULL
    AND (SELECT r.id FROM :schema.sync_jobs r
         WHERE r.connection_id = j.connection_id AND r.status = 'running' LIMIT 1) IS NULL
  RETURNING j.id`;

/**
 * EXE-3: skips connections with a running job, under their locks; the unique index is the backstop. Needs a
 * valid lease.
 */
export async function markRunning(
  tx: Transaction,
  { processId, claimId, ids }: { processId: string; claimId: string; ids: string[] },
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await markRunningSql.all(tx, { now: tx.now, processId, claimId, ids });
  return new Set(rows.map((row) => row.id));
}

const blockStuckSql = prepared<object>`SELECT :schema.block_arrivals(:ids::uuid[], :connectionIds::uuid[])`;

/** Later claims skip these jobs; triggers unblock them. */
export async function blockStuck(
  tx: Queryable,
  jobs: Pick<ReadyRow, 'id' | 'connection_id'>[],
): Promise<void> {
  if (jobs.length === 0) return;
  await blockStuckSql.all(tx, {
    ids: jobs.map((job) => job.id),
    connectionIds: jobs.map((job) => job.connection_id),
  });
}

const deferJobsSql = prepared<object>`
  UPDATE :schema.sync_jobs j SET retry_after = d.until
  FROM ${unnest('d', { id: 'uuid', until: 'timestamptz' })}
  WHERE j.id = ANY (ARRAY[d.id]) AND j.status = 'queued'`;

export async function deferJobs(tx: Queryable, jobs: { id: string; until: Date }[]): Promise<void> {
  if (jobs.length === 0) return;
  await deferJobsSql.all(tx, { d: jobs });
}

const endBackoffsSql = prepared<object>`
  UPDATE :schema.sync_jobs SET retry_after = NULL
  WHERE id = ANY (ARRAY(
    SELECT over.id FROM unnest(:providers::text[]) AS p (slug) CROSS JOIN LATERAL (
      SELECT j.id FROM :schema.sync_jobs j
      WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL
        AND j.provider_slug = p.slug AND j.retry_after <= :now
      ORDER BY j.provider_slug, j.retry_after LIMIT :limit
      FOR UPDATE SKIP LOCKED) over
    LIMIT :limit))
  RETURNING 1`;

/** These jobs compete by priority and scheduled_at again. */
export async function endBackoffs(
  tx: Queryable,
  { now, providers, limit }: { now: Date; providers: readonly string[]; limit: number },
): Promise<number> {
  const rows = await endBackoffsSql.all(tx, { providers, now, limit });
  return rows.length;
}

const nextDueAtSql = prepared<{ at: Date | null }>`
  WITH RECURSIVE ${scannedLanes}
  SELECT least(
    (SELECT min(scheduled_at) FROM lane),
    (SELECT min((
       SELECT retry_after FROM :schema.sync_jobs
       WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL AND provider_slug = p.slug
       ORDER BY provider_slug, retry_after LIMIT 1))
     FROM unnest(:providers::text[]) AS p (slug))) AS at`;

export async function nextDueAt(db: Queryable, providers: readonly string[]): Promise<Date | undefined> {
  const row = await nextDueAtSql.first(db, { providers });
  return row?.at ?? undefined;
}

const otherProvidersWaitingSql = sql<{ slug: string }>`
  WITH RECURSIVE waiting AS (
    SELECT least(
      (SELECT j.provider_slug FROM :schema.sync_jobs j
       WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL
       ORDER BY j.provider_slug LIMIT 1),
      (SELECT j.provider_slug FROM :schema.sync_jobs j
       WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL
       ORDER BY j.provider_slug LIMIT 1)) AS slug
    UNION ALL
    SELECT least(
      (SELECT j.provider_slug FROM :schema.sync_jobs j
       WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND j.provider_slug > w.slug
       ORDER BY j.provider_slug LIMIT 1),
      (SELECT j.provider_slug FROM :schema.sync_jobs j
       WHERE status = 'queued' AND NOT blocked AND retry_after IS NOT NULL AND j.provider_slug > w.slug
       ORDER BY j.provider_slug LIMIT 1))
    FROM waiting w WHERE w.slug IS NOT NULL
  )
  SELECT slug FROM waiting WHERE slug IS NOT NULL AND slug <> ALL (:providers::text[])
    AND (:dueBefore::timestamptz IS NULL OR EXISTS (
      SELECT FROM :schema.sync_jobs j
      WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL
        AND j.provider_slug = waiting.slug AND j.priority = 0 AND j.scheduled_at <= :dueBefore))
  LIMIT 100`;

/** Skip scan, includes backoffs. `dueBefore` selects providers with a priority 0 job due by then. */
export async function otherProvidersWaiting(
  db: Queryable,
  providers: readonly string[],
  dueBefore?: Date,
): Promise<string[]> {
  const rows = await otherProvidersWaitingSql.all(db, { providers, dueBefore });
  return rows.map((row) => row.slug);
}
