import type pg from 'pg';
import { type Fleet, providers, settle, tenants } from './fleet.ts';

export interface Cycling {
  /** How many connections come due, all within `cycleSeconds` from `from` on, evenly. The others are due in a day. */
  due: number;
  from: Date;
  cycleSeconds: number;
  intervalSeconds: number;
}

/**
 * Fills the fleet's tables anew, so that connections come due evenly, in an order that has nothing to do with that on disk.
 * Each ended an interval before it comes due, so with no jitter its job is scheduled for exactly then.
 */
export async function fillCycling(
  client: pg.Client,
  fleet: Fleet,
  { due, from, cycleSeconds, intervalSeconds }: Cycling,
): Promise<void> {
  const { schema, size } = fleet;
  const order = `(n * 7919::bigint % ${size})`;
  await client.query('BEGIN');
  await client.query('SET LOCAL session_replication_role = replica');
  await client.query(`TRUNCATE ${schema}.connections, ${schema}.sync_jobs, ${schema}.signals CASCADE`);
  await client.query(
    `INSERT INTO ${schema}.connections
       (id, tenant_id, provider_slug, external_id, metadata, created_at, updated_at, last_incremental_ended_at)
     SELECT md5('connection' || n)::uuid, md5('tenant' || n % ${tenants})::uuid,
       ('{${providers}}'::text[])[1 + n % ${providers.length}], 'account-' || n,
       jsonb_build_object(
         'crm_owner', 'team-' || n % 7,
         'sync', jsonb_build_object(
           'next_run_at', to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
           'interval_seconds', ${intervalSeconds},
           'cursor', jsonb_build_object('page', md5(n::text), 'since', '2026-01-01T00:00:00.000Z'))),
       ended_at - interval '30 days', ended_at, ended_at
     FROM generate_series(1, ${size}) n
     CROSS JOIN LATERAL (
       SELECT date_trunc('milliseconds', $1::timestamptz + CASE
         WHEN ${order} < ${due} THEN ${order} * ${cycleSeconds}::float8 / ${Math.max(1, due)} * interval '1 s'
         ELSE interval '1 day' + ${order} * interval '1 ms' END) AS due_at) d
     CROSS JOIN LATERAL (SELECT due_at - ${intervalSeconds} * interval '1 s' AS ended_at) e`,
    [from],
  );
  await client.query('COMMIT');
  await settle(client, fleet);
}
