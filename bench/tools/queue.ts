import type pg from 'pg';
import { type Fleet, resetFleet, settle } from './fleet.ts';

/** Gives every connection of the fleet one job that came due within the last hour, on new tables. */
export async function queueDueJobs(client: pg.Client, fleet: Fleet): Promise<void> {
  await resetFleet(client, fleet, 'idle', new Date());
  await insertJobs(client, fleet, { scheduled_at: dueBefore(new Date()) });
  await settle(client, fleet);
}

/** At some moment of the hour before, in an order that has nothing to do with that of the connections on disk. */
const dueBefore = (at: Date) =>
  `timestamptz '${at.toISOString()}' - (hashint4(n) & 2147483647) % 3600000 * interval '1 ms'`;

/** In SQL over connections. */
const connectionNumber = `substr(external_id, length('account-') + 1)::int`;

interface JobsOptions {
  /** The numbers of the connections; all unless given. */
  numbers?: [first: number, last: number];
  /** Whether triggers see it; unless they must, it takes less time without. */
  triggers?: boolean;
}

/** Queues a job for connections of the fleet. Values are SQL over `n`, the number of the connection. */
async function insertJobs(
  client: pg.Client,
  { schema, size }: Fleet,
  values: Record<string, string>,
  { numbers: [first, last] = [1, size], triggers = false }: JobsOptions = {},
): Promise<void> {
  const all = { job_type: `'incremental'`, ...values };
  await client.query('BEGIN');
  if (!triggers) await client.query('SET LOCAL session_replication_role = replica');
  await client.query(
    `INSERT INTO ${schema}.sync_jobs (id, tenant_id, provider_slug, connection_id, ${Object.keys(all)})
     SELECT uuidv7(), tenant_id, provider_slug, id, ${Object.values(all)}
     FROM (SELECT *, ${connectionNumber} AS n FROM ${schema}.connections) c
     WHERE n BETWEEN ${first} AND ${last}`,
  );
  await client.query('COMMIT');
}

/**
 * Throws unless so many jobs have succeeded, each at the first try, with one signal, and with their cursors stored; and
 * unless so many others still wait or run.
 */
export async function verifySynced(
  client: pg.Client,
  { name, schema }: Pick<Fleet, 'name' | 'schema'>,
  jobs: number,
  others = 0,
): Promise<void> {
  const { rows } = await client.query<Record<string, number>>(
    `SELECT
       count(*)::int AS succeeded,
       count(*) FILTER (WHERE j.attempts = 0 AND j.finished_at >= j.started_at AND j.process_id IS NULL)::int AS "at once",
       count(DISTINCT s.job_id)::int AS "with a signal",
       count(*) FILTER (WHERE s.connection_id = j.connection_id AND s.dedupe_key = j.id::text)::int AS "with its own signal",
       (SELECT count(*)::int FROM ${schema}.signals) AS signals,
       count(*) FILTER (WHERE c.metadata #>> '{sync,cursor,page}' = j.id::text AND c.metadata ? 'crm_owner')::int AS cursors,
       count(*) FILTER (WHERE c.last_incremental_ended_at = j.finished_at)::int AS "known to the scheduler",
       (SELECT count(*)::int FROM ${schema}.sync_jobs WHERE status <> 'succeeded') - ${others} + ${jobs} AS "of all"
     FROM ${schema}.sync_jobs j
     JOIN ${schema}.connections c ON c.id = j.connection_id
     LEFT JOIN ${schema}.signals s ON s.job_id = j.id
     WHERE j.status = 'succeeded'`,
  );
  const wrong = Object.entries(rows[0] ?? {}).filter(([, count]) => count !== jobs);
  if (wrong.length > 0) {
    const found = wrong.map(([what, count]) => `${count} ${what}`).join(', ');
    throw new Error(`${name}: ${jobs} jobs were to run once each, but there are ${found}`);
  }
}
