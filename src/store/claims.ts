import type { Queryable, Transaction } from './database.ts';
import { indexLookup } from './plans.ts';

/** A queued job and its connection, both locked until the transaction ends. */
export interface ReadyRow {
  id: string;
  tenant_id: string;
  provider_slug: string;
  connection_id: string;
  job_type: 'incremental' | 'full' | 'webhook';
  priority: number;
  attempts: number;
  scheduled_at: Date;
  cursor: unknown;
  connection_status: string;
  /** Its tenant or provider is not that of its connection: another writer wrote it so. */
  is_foreign: boolean;
  external_id: string | null;
  credential_id: string | null;
  was_parked: boolean;
  /** Other jobs of its connection wait or run. */
  has_siblings: boolean;
  config: unknown;
  metadata: unknown;
  last_incremental_ended_at: Date | null;
  /** Of its connection; see schedule/losses.ts. */
  losses: unknown;
}

/** Exactly the predicate of idx_sync_jobs_ready. */
const ready = `status = 'queued' AND NOT blocked AND retry_after IS NULL`;
/** Exactly the predicate of idx_sync_jobs_retry. */
const backingOff = `status = 'queued' AND NOT blocked AND retry_after IS NOT NULL`;

/** Where the first job of a provider and priority is found that can be claimed. */
export interface Lane {
  slug: string;
  priority: number;
  /** It is due no earlier; as Postgres reads it. */
  from: string;
}

/**
 * The lanes that have something queued: each provider of $1 with each priority, and the time of its first job. Found by jumping
 * from one priority to the next in the index, so jobs that are not due yet are not read, however many there are. What is dead
 * but cannot be forgotten, because somebody still looks at an old snapshot, lies before the first one: it is passed here, once.
 */
const foundLanes = (schema: string) => `
  lane AS (
    SELECT p.slug, first.priority, first.scheduled_at
    FROM unnest($1::text[]) AS p (slug) CROSS JOIN LATERAL (
      SELECT priority, scheduled_at FROM ${schema}.sync_jobs WHERE ${ready} AND provider_slug = p.slug
      ORDER BY provider_slug, priority, scheduled_at LIMIT 1) first
    UNION ALL
    SELECT l.slug, next.priority, next.scheduled_at
    FROM lane l CROSS JOIN LATERAL (
      SELECT j.priority, j.scheduled_at FROM ${schema}.sync_jobs j
      WHERE ${ready} AND j.provider_slug = l.slug AND j.priority > l.priority
      ORDER BY j.provider_slug, j.priority, j.scheduled_at LIMIT 1) next
  )`;

const givenLanes = `
  lane AS (SELECT * FROM unnest($1::text[], $5::smallint[], $6::timestamptz[]) AS l (slug, priority, scheduled_at))`;

export interface ReadyRequest {
  now: Date;
  providers: readonly string[];
  limit: number;
  /** Looks in every lane for as many as are wanted: what comes first is held by somebody who does not let go. */
  thorough?: boolean;
  /** Looks only here. */
  lanes?: readonly Lane[] | undefined;
}

/**
 * EXE-1, EXE-2: locks the jobs that come first, with their connections; what another process holds is passed over. How
 * many of each lane belong to the first is counted before anything is locked, so that no more than `limit` are, unless
 * `thorough`: then as many of each lane, for when the first ones are all held. EXE-3 is not decided here: what ended or began
 * while a lock was being taken is only seen by the next statement.
 */
export function lockReady(
  tx: Queryable,
  { now, providers, limit, thorough = false, lanes }: ReadyRequest,
): Promise<ReadyRow[]> {
  const due = `${ready} AND provider_slug = l.slug AND priority = l.priority AND scheduled_at BETWEEN l.scheduled_at AND $2`;
  const positions = lanes && [lanes.map(({ priority }) => priority), lanes.map(({ from }) => from)];
  return tx.query<ReadyRow>(
    `WITH RECURSIVE ${lanes ? givenLanes : foundLanes(tx.schema)}, share AS MATERIALIZED (
       SELECT slug, priority, since, count(*) AS jobs FROM (
         SELECT l.slug, l.priority, l.scheduled_at AS since FROM lane l CROSS JOIN LATERAL (
           SELECT scheduled_at FROM ${tx.schema}.sync_jobs WHERE ${due}
           ORDER BY provider_slug, priority, scheduled_at LIMIT $3) j
         ORDER BY l.priority DESC, j.scheduled_at LIMIT CASE WHEN $4 THEN NULL ELSE $3::int END) first
       GROUP BY slug, priority, since
     )
     SELECT locked.* FROM share l CROSS JOIN LATERAL (
       SELECT j.id, j.tenant_id, j.provider_slug, j.connection_id, j.job_type, j.priority, j.attempts, j.scheduled_at, j.cursor,
         (j.error -> 'parked') IS NOT NULL AS was_parked,
         (SELECT s.id FROM ${tx.schema}.sync_jobs s
          WHERE s.connection_id = j.connection_id AND s.status IN ('queued', 'running') AND s.id <> j.id LIMIT 1) IS NOT NULL AS has_siblings,
         j.tenant_id <> c.tenant_id OR j.provider_slug <> c.provider_slug AS is_foreign,
         c.status AS connection_status, c.external_id, c.credential_id, c.config, c.metadata, c.last_incremental_ended_at, c.losses
       FROM ${tx.schema}.sync_jobs j JOIN ${tx.schema}.connections c ON ${indexLookup('c.id', 'j.connection_id')}
       WHERE j.status = 'queued' AND NOT j.blocked AND j.retry_after IS NULL
         AND j.provider_slug = l.slug AND j.priority = l.priority AND j.scheduled_at BETWEEN l.since AND $2
       ORDER BY j.provider_slug, j.priority, j.scheduled_at
       LIMIT CASE WHEN $4 THEN $3::int ELSE l.jobs END
       FOR NO KEY UPDATE OF j, c SKIP LOCKED) locked`,
    [lanes?.map(({ slug }) => slug) ?? providers, now, limit, thorough, ...(positions ?? [])],
  );
}

/**
 * EXE-3: marks the jobs as running, except those whose connection runs another, and returns which were. Their connections
 * are locked, and everybody who starts a job locks them, so nothing can begin beside this; the unique index has the last
 * word. Nothing is claimed for a process whose lease is gone.
 */
export async function markRunning(
  tx: Transaction,
  { processId, claimId, ids }: { processId: string; claimId: string; ids: string[] },
): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await tx.query<{ id: string }>(
    `WITH alive AS MATERIALIZED (
       SELECT id FROM ${tx.schema}.processes
       WHERE id = $2 AND expires_at > $1 FOR KEY SHARE
     )
     UPDATE ${tx.schema}.sync_jobs j
     SET status = 'running', started_at = $1, updated_at = $1, process_id = $2, claim_id = $3,
         hinted = j.hinted AND j.cursor IS NOT NULL
     WHERE j.id = ANY ($4::uuid[]) AND (SELECT id FROM alive) IS NOT NULL
       AND (SELECT r.id FROM ${tx.schema}.sync_jobs r
            WHERE r.connection_id = j.connection_id AND r.status = 'running' LIMIT 1) IS NULL
     RETURNING j.id`,
    [tx.now, processId, claimId, ids],
  );
  return new Set(rows.map((row) => row.id));
}

/**
 * Jobs that seemed ready and were not: where their connection is busy or not active they are taken out of what is claimed
 * from, or every claim would meet them again. The triggers bring them back.
 */
export async function blockStuck(
  tx: Queryable,
  jobs: Pick<ReadyRow, 'id' | 'connection_id'>[],
): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(`SELECT ${tx.schema}.block_arrivals($1::uuid[], $2::uuid[])`, [
    jobs.map((job) => job.id),
    jobs.map((job) => job.connection_id),
  ]);
}

/** Has queued jobs wait until a time of their own. */
export async function deferJobs(tx: Queryable, jobs: { id: string; until: Date }[]): Promise<void> {
  if (jobs.length === 0) return;
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs j SET retry_after = d.until
     FROM unnest($1::uuid[], $2::timestamptz[]) AS d (id, until)
     WHERE ${indexLookup('j.id', 'd.id')} AND j.status = 'queued'`,
    [jobs.map((job) => job.id), jobs.map((job) => job.until)],
  );
}

/** Jobs read per look for foreign ones, in the order of claiming. */
const maxLookedAt = 1000;

/** EXE-13: jobs that could run, under one of these providers, and whose tenant or provider is not their connection's. */
export function findForeign(
  db: Queryable,
  providers: readonly string[],
): Promise<Pick<ReadyRow, 'id' | 'connection_id' | 'tenant_id' | 'provider_slug'>[]> {
  return db.query(
    `SELECT j.id, j.connection_id, j.tenant_id, j.provider_slug FROM unnest($1::text[]) AS p (slug) CROSS JOIN LATERAL (
       SELECT id, connection_id, tenant_id, provider_slug FROM ${db.schema}.sync_jobs WHERE ${ready} AND provider_slug = p.slug
       ORDER BY provider_slug, priority, scheduled_at LIMIT ${maxLookedAt}) j
     WHERE (SELECT c.id FROM ${db.schema}.connections c
            WHERE c.id = j.connection_id AND c.tenant_id = j.tenant_id AND c.provider_slug = j.provider_slug) IS NULL
     LIMIT 1000`,
    [providers],
  );
}

/** EXE-13: a job belongs to its connection. Moves jobs to the tenant and provider of theirs. */
export async function correctOwners(tx: Queryable, now: Date, jobIds: string[]): Promise<void> {
  await tx.query(
    `UPDATE ${tx.schema}.sync_jobs j SET tenant_id = c.tenant_id, provider_slug = c.provider_slug, updated_at = $1
     FROM ${tx.schema}.connections c
     WHERE j.id = ANY ($2::uuid[]) AND ${indexLookup('c.id', 'j.connection_id')}`,
    [now, jobIds],
  );
}

/** Clears `retry_after` of up to `limit` jobs where it has passed, so that they compete by priority and scheduled_at; returns how many. */
export async function endBackoffs(
  tx: Queryable,
  { now, providers, limit }: { now: Date; providers: readonly string[]; limit: number },
): Promise<number> {
  const rows = await tx.query(
    `UPDATE ${tx.schema}.sync_jobs SET retry_after = NULL
     WHERE id = ANY (ARRAY(
       SELECT over.id FROM unnest($1::text[]) AS p (slug) CROSS JOIN LATERAL (
         SELECT j.id FROM ${tx.schema}.sync_jobs j
         WHERE ${backingOff} AND j.provider_slug = p.slug AND j.retry_after <= $2
         ORDER BY j.provider_slug, j.retry_after LIMIT $3
         FOR UPDATE SKIP LOCKED) over
       LIMIT $3))
     RETURNING 1`,
    [providers, now, limit],
  );
  return rows.length;
}

/** When the next of these providers' jobs is or was due; undefined if none is queued. */
export async function nextDueAt(db: Queryable, providers: readonly string[]): Promise<Date | undefined> {
  const [row] = await db.query<{ at: Date | null }>(
    `WITH RECURSIVE ${foundLanes(db.schema)}
     SELECT least(
       (SELECT min(scheduled_at) FROM lane),
       (SELECT min((
          SELECT retry_after FROM ${db.schema}.sync_jobs WHERE ${backingOff} AND provider_slug = p.slug
          ORDER BY provider_slug, retry_after LIMIT 1))
        FROM unnest($1::text[]) AS p (slug))) AS at`,
    [providers],
  );
  return row?.at ?? undefined;
}

/**
 * Providers that have a job in line, apart from those given: found by jumping from one provider to the next in the index.
 * With `dueBefore`, only those where one of ordinary priority has been due since then.
 */
export async function otherProvidersWaiting(
  db: Queryable,
  providers: readonly string[],
  dueBefore?: Date,
): Promise<string[]> {
  const next = (after: string) =>
    `SELECT j.provider_slug FROM ${db.schema}.sync_jobs j WHERE ${ready} ${after} ORDER BY j.provider_slug LIMIT 1`;
  const rows = await db.query<{ slug: string }>(
    `WITH RECURSIVE waiting AS (
       SELECT (${next('')}) AS slug
       UNION ALL
       SELECT (${next('AND j.provider_slug > w.slug')}) FROM waiting w WHERE w.slug IS NOT NULL
     )
     SELECT slug FROM waiting WHERE slug IS NOT NULL AND slug <> ALL ($1::text[])
       AND ($2::timestamptz IS NULL OR EXISTS (
         SELECT FROM ${db.schema}.sync_jobs j
         WHERE ${ready} AND j.provider_slug = waiting.slug AND j.priority = 0 AND j.scheduled_at <= $2))
     LIMIT 100`,
    [providers, dueBefore],
  );
  return rows.map((row) => row.slug);
}
