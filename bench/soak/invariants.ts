import type pg from 'pg';
import { mostJitterSeconds, type Plan } from './plan.ts';

/** What the engine promises, asked of the tables in plain SQL. Nothing here knows how the engine keeps it. */

export interface Violation {
  invariant: string;
  count: number;
  examples: string[];
}

export interface Checked {
  /** Quoted. */
  schema: string;
  plan: Plan;
  /** Of load so far. */
  minute: number;
  /** The range of connections to look at: of so many parts this one. */
  part: [index: number, parts: number];
}

/** Each row that it returns is a violation, with what is wrong in its first column. */
type Invariant = (checked: Checked) => string;

const shownExamples = 3;

/**
 * Hold at any moment, whatever is under way: each is one statement, so it sees one moment. Those over all jobs and signals of a
 * connection look at a part of the connections each time; no signal is deleted before its connection has been looked at.
 */
const always: Record<string, Invariant> = {
  'the signals of a connection are numbered up to its cursor, none missing, none doubled': ({
    schema,
    plan,
    part,
  }) => `
    SELECT format('%s: cursor %s; %s signals, %s different ones, from %s to %s', c.id, c.n, coalesce(s.signals, 0), coalesce(s.different, 0), coalesce(s.first, 0), coalesce(s.last, 0))
    FROM (
      SELECT id, ${cursorNumber} AS n, last_incremental_ended_at FROM ${schema}.connections WHERE ${within(part, 'id')}) c
    LEFT JOIN (
      SELECT connection_id, count(*) AS signals, count(DISTINCT n) AS different, min(n) AS first, max(n) AS last
      FROM (
        SELECT connection_id, (payload ->> 'n')::bigint AS n FROM ${schema}.signals
        WHERE ${within(part, 'connection_id')} AND received_at > ${isKeptSince(plan)}) kept
      GROUP BY connection_id) s ON s.connection_id = c.id
    WHERE s.last <> c.n OR s.signals <> s.different OR s.different <> s.last - s.first + 1
      OR s.last IS NULL AND c.n > 0 AND c.last_incremental_ended_at > ${isKeptSince(plan)}`,

  'no connection runs again before its interval is over': ({ schema, plan, part }) => `
    SELECT format('%s: job %s was scheduled for %s, after one that ended at %s', connection_id, id, scheduled_at, ended_before)
    FROM (${historyOf(schema, part)}) h
    WHERE cursor IS NULL AND scheduled_at < ended_before + ${plan.intervalSeconds} * interval '1 s'`,

  'no two runs of a connection overlap': ({ schema, part }) => `
    SELECT format('%s: job %s started at %s, before %s, when another ended', connection_id, id, started_at, ended_before)
    FROM (${historyOf(schema, part)}) h WHERE started_at < ended_before`,

  'a connection runs one job at a time': ({ schema }) => `
    SELECT format('%s runs %s jobs', connection_id, count(*)) FROM ${schema}.sync_jobs
    WHERE status = 'running' GROUP BY connection_id HAVING count(*) > 1`,

  'no connection is behind by more than its interval': ({ schema, plan }) => `
    SELECT format('%s last ran at %s', id, last_incremental_ended_at) FROM ${schema}.connections
    WHERE last_incremental_ended_at < now() - ${
      2 * plan.intervalSeconds + mostJitterSeconds(plan.intervalSeconds)
    } * interval '1 s'`,

  'a connection that waits for a job has one': ({ schema }) => `
    SELECT c.id::text FROM ${schema}.connections c WHERE c.waits_for_job AND NOT EXISTS (
      SELECT FROM ${schema}.sync_jobs j
      WHERE j.connection_id = c.id AND j.job_type = 'incremental' AND j.status IN ('queued', 'running'))`,

  'as many signals are counted as there are numbers, one of each success, and no job has failed': ({
    schema,
  }) => `
    SELECT format('%s items, %s signals, %s successes, %s failures', items, signals, succeeded, failed)
    FROM (SELECT sum(${cursorNumber}) AS items FROM ${schema}.connections) c,
      (SELECT coalesce(sum(signals), 0) AS signals, coalesce(sum(succeeded), 0) AS succeeded, coalesce(sum(failed), 0) AS failed
       FROM ${schema}.rollups WHERE tenant_id = '${everybody}') r
    WHERE items <> signals OR items <> succeeded OR failed > 0`,

  'nothing is deleted before its time': ({ schema, plan, minute }) =>
    minute <= plan.retentionMinutes + 1
      ? `SELECT 1 WHERE false`
      : `
    SELECT format('the first %s is of %s', kind, at) FROM (
      SELECT 'job' AS kind, (${firstJob(schema)}) AS at UNION ALL SELECT 'signal', (${firstSignal(schema)})) first
    WHERE at > now() - ${plan.retentionMinutes} * interval '1 min' + interval '10 s'`,
};

/** Hold when everybody has stopped. */
const atTheEnd: Record<string, Invariant> = {
  'nothing is left running': ({ schema }) =>
    `SELECT format('job %s of %s', id, connection_id) FROM ${schema}.sync_jobs WHERE status = 'running' OR process_id IS NOT NULL`,

  'every process has said goodbye': ({ schema }) =>
    `SELECT pid::text FROM ${schema}.processes UNION ALL SELECT pid::text FROM ${schema}.schedulers`,

  'every connection is active and comes due': ({ schema, plan }) => `
    SELECT c.id::text FROM ${schema}.connections c
    WHERE c.status <> 'active' OR c.due_at > now() + ${2 * plan.intervalSeconds} * interval '1 s'`,

  'the counts of all tenants add up to that of everybody': ({ schema }) => `
    SELECT format('%s: %s signals, %s by tenant', minute, everybody, tenants) FROM (
      SELECT minute, sum(signals) FILTER (WHERE tenant_id = '${everybody}') AS everybody,
        sum(signals) FILTER (WHERE tenant_id <> '${everybody}') AS tenants
      FROM ${schema}.rollups GROUP BY minute) m
    WHERE everybody IS DISTINCT FROM tenants`,
};

const everybody = '00000000-0000-0000-0000-000000000000';
const cursorNumber = `coalesce((metadata #>> '{sync,cursor,n}')::bigint, 0)`;

/** A moment later than what is about to be deleted: two who delete at once may pass each other. */
const isKeptSince = ({ retentionMinutes }: Plan) =>
  `now() - ${retentionMinutes} * interval '1 min' + interval '2 s'`;

/** The ids are hashes, so their first digits divide them evenly, and each part is a range of an index. */
function within([index, parts]: Checked['part'], column: string): string {
  const bound = (part: number) =>
    `'${Math.floor((part / parts) * 2 ** 32)
      .toString(16)
      .padStart(8, '0')}-0000-0000-0000-000000000000'`;
  const below = index + 1 < parts ? ` AND ${column} < ${bound(index + 1)}` : '';
  return `${column} >= ${bound(index)}${below}`;
}

/** Ended jobs, each with the end of the one before. */
const historyOf = (schema: string, part: Checked['part']) => `
  SELECT id, connection_id, cursor, scheduled_at, started_at,
    lag(finished_at) OVER (PARTITION BY connection_id ORDER BY finished_at, started_at) AS ended_before
  FROM ${schema}.sync_jobs WHERE ${within(part, 'connection_id')} AND status = 'succeeded'`;

/** In SQL: when the oldest that is still there ended. */
export const firstJob = (schema: string) => `
  SELECT coalesce(finished_at, updated_at) FROM ${schema}.sync_jobs
  WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed') ORDER BY coalesce(finished_at, updated_at) LIMIT 1`;

/** In SQL: when the oldest that are still there were stored. The first position of all was given before there were any. */
export const firstSignal = (schema: string) =>
  `SELECT created_at FROM ${schema}.feed WHERE position > 1 ORDER BY position LIMIT 1`;

export async function findViolations(
  client: pg.Client,
  checked: Checked,
  { isEnd = false } = {},
): Promise<Violation[]> {
  const found: Violation[] = [];
  for (const [invariant, sql] of Object.entries({ ...always, ...(isEnd && atTheEnd) })) {
    const { rows } = await client.query<{ count: number; examples: string[] }>(
      `SELECT count(*)::int AS count, coalesce((array_agg(detail))[1:${shownExamples}], '{}') AS examples FROM (${sql(checked)}) v (detail)`,
    );
    const { count = 0, examples = [] } = rows[0] ?? {};
    if (count > 0) found.push({ invariant, count, examples });
  }
  return found;
}
