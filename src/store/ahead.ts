import { maxScheduleLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { sql, unnest } from './sql.ts';

const maxCounted = 10_000;

export interface AheadLimits {
  defaultIntervalSeconds: number;
  minIntervalSeconds: number;
  maxIntervalSeconds: number;
  nextRunIntervals: number;
  jobIntervals: number;
  pauseSeconds: number;
  slackSeconds: number;
}

const limits = `l AS MATERIALIZED (
  SELECT :now::timestamptz AS now, :defaultIntervalSeconds::numeric AS default_seconds,
    :minIntervalSeconds::numeric AS min_seconds, :maxIntervalSeconds::numeric AS max_seconds,
    :nextRunIntervals::numeric AS run_intervals, :jobIntervals::numeric AS job_intervals,
    :pauseSeconds::numeric AS pause_seconds, :slackSeconds::numeric AS slack_seconds)`;

/**
 * Upper bound of the distance between occurrences: a week; with days of the month, 100 days (a fifth Friday)
 * or a year. `schedule repair` is exact.
 */
const scheduleSeconds = String.raw`CASE
    WHEN jsonb_typeof(c.schedule) IS DISTINCT FROM 'object' THEN NULL
    WHEN c.schedule ? 'times_of_day' THEN 8 * 86400
    WHEN left(c.schedule ->> 'cron', 100) ~* '^\S+ \S+ \* \* [^ #L+]+$' THEN 8 * 86400
    WHEN left(c.schedule ->> 'cron', 100) ~* '^\S+ \S+ [^ +]+ \* [^ +]+$' THEN 100 * 86400
    ELSE 366 * 86400 END AS schedule_seconds`;

/** SCH-3. `own` may be any JSON. */
const base = `coalesce(schedule_seconds, CASE jsonb_typeof(own) WHEN 'number' THEN
    CASE WHEN own::numeric BETWEEN l.min_seconds AND l.max_seconds AND trunc(own::numeric) = own::numeric
      THEN own::numeric ELSE l.default_seconds END
  ELSE l.default_seconds END)`;
const runLimit = `l.now + ((${base}) * l.run_intervals + l.slack_seconds)::float8 * interval '1 second'`;
const slotLimit = `l.now + ((${base}) * l.job_intervals + l.slack_seconds)::float8 * interval '1 second'`;
const pauseLimit = `l.now + (l.pause_seconds + l.slack_seconds)::float8 * interval '1 second'`;
/** Nearer times need no further check. */
const minRunLimit = `(SELECT l.now
  + (l.min_seconds * l.run_intervals + l.slack_seconds)::float8 * interval '1 second' FROM l)`;
const minSlotLimit = `(SELECT l.now
  + (l.min_seconds * l.job_intervals + l.slack_seconds)::float8 * interval '1 second' FROM l)`;

const isJobAhead = `(j.retry_after > ${pauseLimit} OR j.scheduled_at > CASE
  WHEN j.job_type = 'incremental' AND j.retry_after IS NULL THEN ${slotLimit}
  ELSE greatest(${slotLimit}, ${pauseLimit}) END)`;

export interface Ahead {
  count: number;
  atLeast: boolean;
  until: Date | null;
  examples: string[];
}

interface AheadRow {
  looked: number;
  found: number;
  until: Date | null;
  examples: string[] | null;
}

const toAhead = (row: AheadRow | undefined): Ahead => ({
  count: Math.min(row?.found ?? 0, maxCounted),
  atLeast: (row?.looked ?? 0) > maxCounted,
  until: row?.until ?? null,
  examples: row?.examples ?? [],
});

const maxExamples = 3;

const connectionsAheadSql = sql<AheadRow>`
  WITH ${limits}, farthest AS MATERIALIZED (
    SELECT c.id, c.due_at, c.metadata #> '{sync,interval_seconds}' AS own, ${scheduleSeconds}
    FROM :schema.connections c
    WHERE c.status = 'active' AND NOT c.waits_for_job AND c.due_at > ${minRunLimit}
    ORDER BY c.due_at DESC, c.id DESC LIMIT ${maxCounted + 1})
  SELECT (SELECT count(*) FROM farthest)::int AS looked, count(*)::int AS found, max(due_at) AS until,
    to_json((array_agg(id::text ORDER BY due_at DESC, id DESC))[1:${maxExamples}]) AS examples
  FROM farthest CROSS JOIN l WHERE due_at > ${runLimit}`;

/** Scans the due index backwards, up to `maxCounted`. */
export async function connectionsAhead(db: Queryable, now: Date, aheadLimits: AheadLimits): Promise<Ahead> {
  const row = await connectionsAheadSql.first(db, { now, ...aheadLimits });
  return toAhead(row);
}

/** Predicates of idx_sync_jobs_ready and idx_sync_jobs_retry. */
const ready = `status = 'queued' AND NOT blocked AND retry_after IS NULL`;
const backingOff = `status = 'queued' AND NOT blocked AND retry_after IS NOT NULL`;

const jobsAheadSql = sql<AheadRow>`
  WITH RECURSIVE ${limits}, provider AS MATERIALIZED (
    SELECT slug FROM :schema.providers ORDER BY slug LIMIT 1000
  ), lane AS (
    SELECT p.slug, first.priority FROM provider p CROSS JOIN LATERAL (
      SELECT priority FROM :schema.sync_jobs WHERE ${ready} AND provider_slug = p.slug
      ORDER BY provider_slug, priority LIMIT 1) first
    UNION ALL
    SELECT o.slug, next.priority FROM lane o CROSS JOIN LATERAL (
      SELECT j.priority FROM :schema.sync_jobs j
      WHERE ${ready} AND j.provider_slug = o.slug AND j.priority > o.priority
      ORDER BY j.provider_slug, j.priority LIMIT 1) next
  ), waiting AS MATERIALIZED (
    SELECT w.* FROM lane o CROSS JOIN LATERAL (
      SELECT id, connection_id, job_type, scheduled_at, retry_after FROM :schema.sync_jobs
      WHERE ${ready} AND provider_slug = o.slug AND priority = o.priority AND scheduled_at > ${minSlotLimit}
      ORDER BY provider_slug DESC, priority DESC, scheduled_at DESC LIMIT ${maxCounted + 1}) w
    LIMIT ${maxCounted + 1}
  ), backing AS MATERIALIZED (
    SELECT b.* FROM provider p CROSS JOIN LATERAL (
      SELECT id, retry_after FROM :schema.sync_jobs
      WHERE ${backingOff} AND provider_slug = p.slug AND retry_after > (SELECT ${pauseLimit} FROM l)
      ORDER BY provider_slug DESC, retry_after DESC LIMIT ${maxCounted + 1}) b
    LIMIT ${maxCounted + 1}
  ), ahead AS (
    SELECT j.id, j.scheduled_at AS at FROM (
      SELECT w.*, c.metadata #> '{sync,interval_seconds}' AS own, ${scheduleSeconds}
      FROM waiting w CROSS JOIN LATERAL (
        SELECT metadata, schedule FROM :schema.connections WHERE id = w.connection_id LIMIT 1) c) j CROSS JOIN l
    WHERE ${isJobAhead}
    UNION ALL
    SELECT id, retry_after FROM backing
  )
  SELECT greatest((SELECT count(*) FROM waiting), (SELECT count(*) FROM backing), count(*))::int AS looked,
    count(*)::int AS found, max(at) AS until,
    to_json((array_agg(id::text ORDER BY at DESC))[1:${maxExamples}]) AS examples
  FROM ahead`;

/** Scans the claim indexes backwards per (provider, priority), up to `maxCounted`. */
export async function jobsAhead(db: Queryable, now: Date, aheadLimits: AheadLimits): Promise<Ahead> {
  const row = await jobsAheadSql.first(db, { now, ...aheadLimits });
  return toAhead(row);
}

const judgedPage = `${limits}, page AS MATERIALIZED (
    SELECT c.id, c.status, c.due_at, c.metadata #> '{sync,interval_seconds}' AS own,
      ${scheduleSeconds}
    FROM :scope.listed_connections c
    WHERE :after::uuid IS NULL OR c.id > :after AND c.listed_id > :after ORDER BY c.id LIMIT :scan
  ), judged AS (
    SELECT p.id, CASE WHEN p.due_at > ${runLimit} THEN p.due_at END AS run_at,
      ARRAY(SELECT j.id::text FROM :schema.sync_jobs j
            WHERE j.connection_id = p.id AND j.status IN ('queued', 'running') AND j.status = 'queued'
              AND ${isJobAhead}) AS jobs
    FROM page p CROSS JOIN l WHERE p.status = 'active'
  )`;

interface TenantAheadRow {
  looked: number;
  connections: number;
  jobs: number;
  until: Date | null;
  connection_ids: string[] | null;
  job_ids: string[] | null;
}

const tenantAheadSql = sql<TenantAheadRow>`
  WITH ${judgedPage}
  SELECT (SELECT count(*) FROM page)::int AS looked, count(run_at)::int AS connections,
    coalesce(sum(cardinality(jobs)), 0)::int AS jobs, max(run_at) AS until,
    to_json((array_agg(id::text) FILTER (WHERE run_at IS NOT NULL))[1:${maxExamples}]) AS connection_ids,
    to_json((array_agg(jobs[1]) FILTER (WHERE jobs <> '{}'))[1:${maxExamples}]) AS job_ids
  FROM judged`;

/** Reads the first `maxCounted` connections: no index orders them by time. */
export async function tenantAhead(
  db: Queryable,
  now: Date,
  aheadLimits: AheadLimits,
): Promise<{ connections: Ahead; jobs: Ahead }> {
  const row = await tenantAheadSql.first(db, { now, ...aheadLimits, after: null, scan: maxCounted + 1 });
  const looked = row?.looked ?? 0;
  return {
    connections: toAhead(
      row && { looked, found: row.connections, until: row.until, examples: row.connection_ids },
    ),
    jobs: toAhead(row && { looked, found: row.jobs, until: null, examples: row.job_ids }),
  };
}

const findAheadSql = sql<{ looked: number; last: string | null; ids: string[] | null }>`
  WITH ${judgedPage}, wrong AS (
    SELECT id FROM judged WHERE run_at IS NOT NULL OR jobs <> '{}' ORDER BY id LIMIT :limit)
  SELECT (SELECT count(*) FROM page)::int AS looked, (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last,
    (SELECT json_agg(id) FROM wrong) AS ids`;

export async function findAhead(
  db: Queryable,
  now: Date,
  aheadLimits: AheadLimits,
  { after, limit, scan }: { after: string | undefined; limit: number; scan: number },
): Promise<{ ids: string[]; last: string | undefined; isEnd: boolean }> {
  const row = await findAheadSql.first(db, { now, ...aheadLimits, after, scan, limit });
  const ids = row?.ids ?? [];
  return {
    ids,
    last: ids.length === limit ? ids.at(-1) : (row?.last ?? undefined),
    isEnd: ids.length < limit && (row?.looked ?? 0) < scan,
  };
}

export interface MovableConnection {
  id: string;
  tenant_id: string;
  provider_slug: string;
  due_ms: number;
  last_ended_ms: number | null;
  /** JSON text, truncated. */
  interval: string | null;
  /** JSON text, truncated. */
  schedule: string | null;
}

const lockMovableSql = sql<MovableConnection>`
  SELECT c.id, c.tenant_id, c.provider_slug, extract(epoch FROM c.due_at)::float8 * 1000 AS due_ms,
    extract(epoch FROM c.last_incremental_ended_at)::float8 * 1000 AS last_ended_ms,
    left((c.metadata #> '{sync,interval_seconds}')::text, 80) AS interval,
    left(c.schedule::text, ${maxScheduleLength}) AS schedule
  FROM :scope.connections c WHERE c.id = ANY (:ids::uuid[]) AND c.status = 'active'
  ORDER BY c.id FOR NO KEY UPDATE OF c SKIP LOCKED`;

/** Lock order: by id; skips locked rows. */
export function lockMovable(tx: Queryable, ids: readonly string[]): Promise<MovableConnection[]> {
  return lockMovableSql.all(tx, { ids });
}

export interface MovableJob {
  id: string;
  connection_id: string;
  job_type: string;
  attempts: number;
  scheduled_ms: number;
  retry_ms: number | null;
  /** Unchanged since its placement. */
  is_placed: boolean;
}

const lockMovableJobsSql = sql<MovableJob>`
  SELECT j.id, j.connection_id, j.job_type, j.attempts,
    extract(epoch FROM j.scheduled_at)::float8 * 1000 AS scheduled_ms,
    extract(epoch FROM j.retry_after)::float8 * 1000 AS retry_ms,
    j.job_type = 'incremental' AND j.attempts = 0 AND j.priority = 0 AND j.cursor IS NULL
      AND j.retry_after IS NULL AND NOT j.hinted AS is_placed
  FROM :schema.sync_jobs j
  WHERE j.connection_id = ANY (:connectionIds::uuid[])
    AND j.status IN ('queued', 'running') AND j.status = 'queued'
  FOR UPDATE OF j SKIP LOCKED`;

/** SKIP LOCKED: claims lock jobs first, so waiting could deadlock. */
export function lockMovableJobs(tx: Queryable, connectionIds: readonly string[]): Promise<MovableJob[]> {
  return lockMovableJobsSql.all(tx, { connectionIds });
}

const withPendingJobSql = sql<{ connection_id: string }>`
  SELECT j.connection_id FROM :schema.sync_jobs j
  WHERE j.connection_id = ANY (:connectionIds::uuid[]) AND j.job_type = 'incremental'
    AND j.status IN ('queued', 'running')`;

export async function withPendingJob(
  tx: Queryable,
  connectionIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await withPendingJobSql.all(tx, { connectionIds });
  return new Set(rows.map((row) => row.connection_id));
}

export interface MovedJob {
  id: string;
  scheduledAt: Date;
  retryAfter: Date | null;
}

const moveJobsSql = sql<object>`
  UPDATE :schema.sync_jobs j SET scheduled_at = m.scheduled_at, retry_after = m.retry_after, updated_at = :now
  FROM ${unnest('m', { id: 'uuid', scheduledAt: 'timestamptz', retryAfter: 'timestamptz' })}
  WHERE j.id = ANY (:m.id::uuid[]) AND j.id = m.id`;

export async function moveJobs(tx: Queryable, now: Date, jobs: readonly MovedJob[]): Promise<void> {
  await moveJobsSql.all(tx, { now, m: jobs });
}
