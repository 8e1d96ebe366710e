import pg from 'pg';
import { createSyncline, type Syncline } from '../../dist/index.js';

/** A schema with so many connections, and the engine that schedules them. */
export interface Fleet {
  name: string;
  size: number;
  /** The quoted schema name. */
  schema: string;
  engine: Syncline;
}

/** `idle`: nothing comes due for an hour. `overdue`: every connection should have run in the last hours. */
type State = 'idle' | 'overdue';

export const tenants = 100;
export const providers = ['hubspot', 'salesforce', 'stripe', 'zendesk'];

export async function createFleet(
  client: pg.Client,
  url: string,
  size: number,
  name = size >= 1_000_000 ? `${size / 1_000_000}m` : `${size / 1000}k`,
): Promise<Fleet> {
  const schema = `bench_${name}`;
  const engine = createSyncline({ database: { url, schema }, log: { level: 'silent' } });
  await engine.migrate();
  const fleet = { name, size, schema: pg.escapeIdentifier(schema), engine };
  await client.query(`
    INSERT INTO ${fleet.schema}.tenants (id, name)
      SELECT md5('tenant' || n)::uuid, 'Tenant ' || n FROM generate_series(0, ${tenants - 1}) n;
    INSERT INTO ${fleet.schema}.providers (slug)
      SELECT unnest('{${providers}}'::text[]);`);
  return fleet;
}

/**
 * Puts the fleet into a state as of `at`, on new, vacuumed tables and with no write outstanding: so every measurement
 * begins with the same pages. Hashes stand in for randomness, so it begins with the same rows as well, and the order in
 * which they come due has nothing to do with the order in which they lie on disk.
 */
export async function resetFleet(client: pg.Client, fleet: Fleet, state: State, at: Date): Promise<void> {
  const { schema, size } = fleet;
  const instant = (value: string) =>
    `to_char((${value}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
  const within6Hours = `(hashint4(n) & 2147483647) % 21600000 * interval '1 ms'`;
  const nextRunAt =
    state === 'idle'
      ? `$1::timestamptz + interval '1 hour' + ${within6Hours}`
      : `$1::timestamptz - interval '1 s' - ${within6Hours}`;

  await client.query('BEGIN');
  // Foreign keys of generated rows need no check, and it would take half of the time.
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
           'next_run_at', ${instant('next_run_at')},
           'interval_seconds', seconds,
           'last_jitter_seconds', n % 100,
           'cursor', jsonb_build_object('page', md5(n::text), 'since', ${instant('ended_at')}))),
       $1::timestamptz - interval '30 days', ended_at, ended_at
     FROM generate_series(1, ${size}) n
     CROSS JOIN LATERAL (SELECT ${nextRunAt} AS next_run_at, 900 * (1 << n % 4) AS seconds) s
     CROSS JOIN LATERAL (SELECT least(next_run_at, $1) - seconds * interval '1 s' AS ended_at) e`,
    [at],
  );
  await client.query('COMMIT');
  await settle(client, fleet);
}

export async function settle(client: pg.Client, { schema }: Fleet): Promise<void> {
  await client.query(`VACUUM (ANALYZE) ${schema}.connections, ${schema}.sync_jobs`);
  await client.query('CHECKPOINT');
}
