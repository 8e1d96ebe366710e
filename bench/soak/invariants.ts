import type pg from 'pg';
import { allTenants } from '../tools/fleet.ts';
import { intervalSeconds, maxJitterSeconds, type Plan } from './plan.ts';

/** The guarantees of the engine as SQL over its tables, independent of its code. */

export interface Violation {
  invariant: string;
  count: number;
  examples: string[];
}

export interface Checked {
  schema: string;
  plan: Plan;
  minute: number;
  part: [index: number, parts: number];
}

/** Each returned row is a violation; its first column describes it. */
type Invariant = (checked: Checked) => string;

const maxExamples = 3;
const cursorNumber = `coalesce((metadata #>> '{sync,cursor,n}')::bigint, 0)`;

/** These hold at any time. Each is one statement with one snapshot. */
const always: Record<string, Invariant> = {
  'The signals of a connection have consecutive numbers up to its cursor': ({ schema, plan, part }) => `
    SELECT format('%s: cursor %s; %s signals, %s distinct, from %s to %s', c.id, c.n, coalesce(s.signals, 0), coalesce(s.different, 0), coalesce(s.first, 0), coalesce(s.last, 0))
    FROM (
      SELECT id, ${cursorNumber} AS n, last_incremental_ended_at FROM ${schema}.connections WHERE ${within(part, 'id')}) c
    LEFT JOIN (
      SELECT connection_id, count(*) AS signals, count(DISTINCT n) AS different, min(n) AS first, max(n) AS last
      FROM (
        SELECT connection_id, (payload ->> 'n')::bigint AS n FROM ${schema}.signals
        WHERE ${within(part, 'connection_id')} AND received_at > ${retainedSince(plan)}) kept
      GROUP BY connection_id) s ON s.connection_id = c.id
    WHERE s.last <> c.n OR s.signals <> s.different OR s.different <> s.last - s.first + 1
      OR s.last IS NULL AND c.n > 0 AND c.last_incremental_ended_at > ${retainedSince(plan)}`,

  'No connection runs again before its interval is over': ({ schema, part }) => `
    SELECT format('%s: job %s was scheduled for %s, after a job that ended at %s', connection_id, id, scheduled_at, ended_before)
    FROM (${historyOf(schema, part)}) h
    WHERE cursor IS NULL AND scheduled_at < ended_before + ${intervalSeconds} * interval '1 s'`,

  'No two runs of a connection overlap': ({ schema, part }) => `
    SELECT format('%s: job %s started at %s, before another ended at %s', connection_id, id, started_at, ended_before)
    FROM (${historyOf(schema, part)}) h WHERE started_at < ended_before`,

  'A connection runs one job at a time': ({ schema }) => `
    SELECT format('%s runs %s jobs', connection_id, count(*)) FROM ${schema}.sync_jobs
    WHERE status = 'running' GROUP BY connection_id HAVING count(*) > 1`,

  'No connection is late by more than its interval': ({ schema }) => `
    SELECT format('%s last ran at %s', id, last_incremental_ended_at) FROM ${schema}.connections
    WHERE last_incremental_ended_at < now() - ${2 * intervalSeconds + maxJitterSeconds} * interval '1 s'`,

  'A connection that waits for a job has one': ({ schema }) => `
    SELECT c.id::text FROM ${schema}.connections c WHERE c.waits_for_job AND NOT EXISTS (
      SELECT FROM ${schema}.sync_jobs j
      WHERE j.connection_id = c.id AND j.job_type = 'incremental' AND j.status IN ('queued', 'running'))`,

  'The statistics count one signal and one success per number, and no failure': ({ schema }) => `
    SELECT format('%s items, %s signals, %s successes, %s failures', items, signals, succeeded, failed)
    FROM (SELECT sum(${cursorNumber}) AS items FROM ${schema}.connections) c,
      (SELECT coalesce(sum(signals), 0) AS signals, coalesce(sum(succeeded), 0) AS succeeded, coalesce(sum(failed), 0) AS failed
       FROM ${schema}.rollups WHERE tenant_id = '${allTenants}') r
    WHERE items <> signals OR items <> succeeded OR failed > 0`,

  'No row is deleted before its retention is over': ({ schema, plan, minute }) => `
    SELECT format('the first %s is of %s', kind, at) FROM (
      SELECT 'job' AS kind, (${firstJob(schema)}) AS at UNION ALL SELECT 'signal', (${firstSignal(schema)})) first
    WHERE ${minute > plan.retentionMinutes + 1} AND at > now() - ${plan.retentionMinutes} * interval '1 min' + interval '10 s'`,
};

/** These hold after all processes have stopped. */
const atTheEnd: Record<string, Invariant> = {
  'No job is left running': ({ schema }) =>
    `SELECT format('job %s of %s', id, connection_id) FROM ${schema}.sync_jobs WHERE status = 'running' OR process_id IS NOT NULL`,

  'No process is left registered': ({ schema }) =>
    `SELECT pid::text FROM ${schema}.processes UNION ALL SELECT pid::text FROM ${schema}.schedulers`,

  'Each connection is active and comes due': ({ schema }) => `
    SELECT c.id::text FROM ${schema}.connections c
    WHERE c.status <> 'active' OR c.due_at > now() + ${2 * intervalSeconds} * interval '1 s'`,

  'The counts of the tenants add up to the total': ({ schema }) => `
    SELECT format('%s: %s signals, %s by tenant', minute, total, tenants) FROM (
      SELECT minute, sum(signals) FILTER (WHERE tenant_id = '${allTenants}') AS total,
        sum(signals) FILTER (WHERE tenant_id <> '${allTenants}') AS tenants
      FROM ${schema}.rollups GROUP BY minute) m
    WHERE total IS DISTINCT FROM tenants`,
};

/** Excludes rows that a concurrent janitor may delete. */
const retainedSince = ({ retentionMinutes }: Plan) =>
  `now() - ${retentionMinutes} * interval '1 min' + interval '2 s'`;

/** Ids are hashes, so equal ranges of their first digits are equal parts, and each part is an index range. */
function within([index, parts]: Checked['part'], column: string): string {
  const digits = (part: number) =>
    Math.floor((part / parts) * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  const bound = (part: number) => `'${digits(part)}-0000-0000-0000-000000000000'`;
  const below = index + 1 < parts ? ` AND ${column} < ${bound(index + 1)}` : '';
  return `${column} >= ${bound(index)}${below}`;
}

const historyOf = (schema: string, part: Checked['part']) => `
  SELECT id, connection_id, cursor, scheduled_at, started_at,
    lag(finished_at) OVER (PARTITION BY connection_id ORDER BY finished_at, started_at) AS ended_before
  FROM ${schema}.sync_jobs WHERE ${within(part, 'connection_id')} AND status = 'succeeded'`;

export const firstJob = (schema: string) => `
  SELECT coalesce(finished_at, updated_at) FROM ${schema}.sync_jobs
  WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed') ORDER BY coalesce(finished_at, updated_at) LIMIT 1`;

/** SQL: the time of the oldest signals. Position 1 exists before the first signal. */
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
      `SELECT count(*)::int AS count, coalesce((array_agg(detail))[1:${maxExamples}], '{}') AS examples FROM (${sql(checked)}) v (detail)`,
    );
    const { count = 0, examples = [] } = rows[0] ?? {};
    if (count > 0) found.push({ invariant, count, examples });
  }
  return found;
}
