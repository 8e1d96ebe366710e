import type pg from 'pg';
import type { Fleet } from '../tools/fleet.ts';

/**
 * What the engine is compared with: SQL that writes the same rows and does nothing else. No pending job is looked for,
 * no metadata is checked, nothing is told to anybody, and no row leaves the database.
 */

/** How a row `c` of connections is placed, in SQL. Jitter is hashed, so that two statements come to the same one. */
function placement({ config }: Fleet['engine'], at: string) {
  const { jitterPctMin, jitterPctMax, tickIntervalSeconds } = config.scheduler;
  const base = `(c.metadata #>> '{sync,interval_seconds}')::int`;
  const ended = 'c.last_incremental_ended_at';
  const least = `ceil(${jitterPctMin} * ${base})::int`;
  const most = `floor(${jitterPctMax} * ${base})::int`;
  return {
    slot: `${ended} + greatest(1, floor(extract(epoch FROM ${at} - ${ended}) / ${base}))::int * ${base} * interval '1 s'`,
    jitter: `${least} + (uuid_hash_extended(c.id, 0) & 2147483647)::int % (${most} - ${least} + 1)`,
    base: `${base} * interval '1 s'`,
    horizon: `${at} + ${tickIntervalSeconds} * interval '1 s'`,
  };
}

function patched(schema: string, nextRunAt: string, jitter: string): string {
  return `${schema}.patch_sync(c.metadata, jsonb_build_object(
    'next_run_at', to_char((${nextRunAt}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'last_jitter_seconds', ${jitter}))`;
}

const jobColumns =
  'id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, created_at, updated_at';

/** In batches as large as the engine's, a statement and a transaction each. */
export async function placeInBatches(
  client: pg.Client,
  { schema, engine }: Fleet,
  at: Date,
): Promise<number> {
  const { slot, jitter, base, horizon } = placement(engine, '$1::timestamptz');
  const { batchSize } = engine.config.scheduler;
  const statement = `
    WITH due AS MATERIALIZED (
      SELECT c.id, c.tenant_id, c.provider_slug, c.due_at, p.*
      FROM ${schema}.connections c
      CROSS JOIN LATERAL (SELECT ${slot} AS slot, ${jitter} AS jitter, ${base} AS base) p
      WHERE c.status = 'active' AND NOT c.waits_for_job AND c.due_at <= ${horizon} AND c.due_at >= $2
      ORDER BY c.due_at
      LIMIT ${batchSize}
      FOR NO KEY UPDATE OF c SKIP LOCKED
    ), jobs AS (
      INSERT INTO ${schema}.sync_jobs (${jobColumns})
      SELECT uuidv7(), tenant_id, provider_slug, id, 'incremental', 'queued', slot + jitter * interval '1 s', $1, $1 FROM due
    ), connections AS (
      UPDATE ${schema}.connections c
      SET metadata = ${patched(schema, 'slot + base', 'jitter')},
          waits_for_job = slot + base <= ${horizon}, updated_at = $1
      FROM due WHERE c.id = due.id
    )
    SELECT count(*)::int AS placed, max(due_at)::text AS last FROM due`;

  let placed = 0;
  // Like the engine it goes on after the last one taken, or every batch would pass the dead entries of all before.
  for (let last = '-infinity'; ; ) {
    const { rows } = await client.query<{ placed: number; last: string }>(statement, [at, last]);
    const batch = rows[0];
    placed += batch?.placed ?? 0;
    if (!batch || batch.placed < batchSize) return placed;
    last = batch.last;
  }
}

/** Everything in one transaction: the least that Postgres can do, though nobody could run it beside other work. */
export async function placeAtOnce(client: pg.Client, { schema, engine }: Fleet, at: Date): Promise<number> {
  const now = `timestamptz '${at.toISOString()}'`;
  const { slot, jitter, base, horizon } = placement(engine, now);
  const due = `c.status = 'active' AND NOT c.waits_for_job AND c.due_at <= ${horizon}`;
  await client.query('BEGIN');
  const { rowCount } = await client.query(`
    INSERT INTO ${schema}.sync_jobs (${jobColumns})
    SELECT uuidv7(), c.tenant_id, c.provider_slug, c.id, 'incremental', 'queued',
      ${slot} + (${jitter}) * interval '1 s', ${now}, ${now}
    FROM ${schema}.connections c WHERE ${due}`);
  await client.query(`
    UPDATE ${schema}.connections c
    SET metadata = ${patched(schema, `${slot} + ${base}`, jitter)},
        waits_for_job = ${slot} + ${base} <= ${horizon}, updated_at = ${now}
    WHERE ${due}`);
  await client.query('COMMIT');
  return rowCount ?? 0;
}
