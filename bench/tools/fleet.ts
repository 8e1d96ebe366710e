import pg from 'pg';
import type { SyncContext, Syncline, SyncResult } from '../../dist/index.js';
import { createSyncline } from './build-under-test.ts';

export interface Fleet {
  size: number;
  schemaName: string;
  schema: string;
}

const tenants = 100;
export const providers = ['hubspot', 'salesforce', 'stripe', 'zendesk'];
/** `rollups` rows of this tenant count all tenants. */
export const allTenants = '00000000-0000-0000-0000-000000000000';

export async function createFleet(
  client: pg.Client,
  url: string,
  size: number,
  schemaName = 'bench',
): Promise<Fleet> {
  const engine = openEngine(url, schemaName);
  await engine.migrate();
  await engine.stop();
  const schema = pg.escapeIdentifier(schemaName);
  await client.query(`
    INSERT INTO ${schema}.tenants (id, name)
      SELECT md5('tenant' || n)::uuid, 'Tenant ' || n FROM generate_series(0, ${tenants - 1}) n;
    INSERT INTO ${schema}.providers (slug)
      SELECT unnest('{${providers}}'::text[]);`);
  return { size, schemaName, schema };
}

export function openEngine(url: string, schema: string): Syncline {
  return createSyncline({ database: { url, schema }, log: { level: 'silent' } });
}

interface DueTimes {
  /** This many connections come due, evenly from `from` on. The others are due a day later. Default: all. */
  due?: number;
  from: Date;
  overSeconds: number;
  intervalSeconds?: number;
}

/**
 * Replaces the connections of the fleet. The due order differs from the order on disk. Each connection's last run ended one
 * interval before it is due, so without jitter its job is scheduled exactly at the due time.
 */
export async function fillConnections(
  client: pg.Client,
  { schema, size }: Fleet,
  { due = size, from, overSeconds, intervalSeconds = 3600 }: DueTimes,
): Promise<void> {
  const order = `(n * 7919::bigint % ${size})`;
  await client.query('BEGIN');
  // Generated rows need no foreign key checks, which would take half of the time.
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
         WHEN ${order} < ${due} THEN ${order} * ${overSeconds}::float8 / ${Math.max(1, due)} * interval '1 s'
         ELSE interval '1 day' + ${order} * interval '1 ms' END) AS due_at) d
     CROSS JOIN LATERAL (SELECT due_at - ${intervalSeconds} * interval '1 s' AS ended_at) e`,
    [from],
  );
  await client.query('COMMIT');
  await client.query(`VACUUM (ANALYZE) ${schema}.connections, ${schema}.sync_jobs`);
  await client.query('CHECKPOINT');
}

export function syncResult({ connection, job }: Pick<SyncContext, 'connection' | 'job'>): SyncResult {
  const now = new Date();
  return {
    signals: [
      {
        kind: 'issue.opened',
        occurredAt: now,
        payload: { number: 1234, title: 'A small payload', account: connection.externalId },
        dedupeKey: job.id,
      },
    ],
    nextCursor: { page: job.id, since: now.toISOString() },
  };
}

export interface TableSize {
  table: string;
  totalBytes: number;
  deadRows: number;
}

export async function readSizes(client: pg.Client, { schemaName }: Fleet): Promise<TableSize[]> {
  const { rows } = await client.query<TableSize>(
    `SELECT relname AS table, pg_total_relation_size(relid)::float8 AS "totalBytes", n_dead_tup::float8 AS "deadRows"
     FROM pg_stat_user_tables WHERE schemaname = $1 AND pg_total_relation_size(relid) >= 256 * 1024`,
    [schemaName],
  );
  return rows;
}
