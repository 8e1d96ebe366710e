import pg from 'pg';
import { type EngineProcess, executor } from '../engine/engine.ts';
import type { StartOptions } from '../engine/worker.ts';
import { allTenants, createFleet, type Fleet, fillConnections } from '../tools/fleet.ts';
import { connectTo } from '../tools/postgres.ts';
import type { VariantName } from './measure.ts';

/** Each variant has its own database: a snapshot does not hold back vacuum in other databases. */
export interface Variant {
  name: VariantName;
  url: string;
  client: pg.Client;
  fleet: Fleet;
  counters: Counters;
}

/** `waiting`: due jobs of one provider that have not started, counted up to 1,000. */
type Counters = Record<'syncs' | 'waiting' | 'claims' | 'claimMs', number>;

export async function createVariant(
  name: VariantName,
  client: pg.Client,
  url: string,
  connections: number,
): Promise<Variant> {
  await client.query('CREATE EXTENSION pg_stat_statements');
  const database = pg.escapeIdentifier(new URL(url).pathname.slice(1));
  await client.query(`ALTER DATABASE ${database} SET pg_stat_statements.track = 'top'`);
  const fleet = await createFleet(client, url, connections);
  const from = new Date(Date.now() - 60_000);
  await fillConnections(client, fleet, { from, overSeconds: 60, intervalSeconds: 60 });
  return { name, url, client, fleet, counters: { syncs: 0, waiting: 0, claims: 0, claimMs: 0 } };
}

export async function holdSnapshot({ url }: Variant): Promise<void> {
  const holder = await connectTo(url);
  await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await holder.query('SELECT 1 FROM pg_class LIMIT 1');
}

export async function startVariant(
  { url, fleet }: Variant,
  processes: EngineProcess[],
  retentionMinutes: number,
): Promise<void> {
  const options = { database: { url, schema: fleet.schemaName }, executor };
  const start: StartOptions = { roles: ['scheduler', 'executor'], options, connector: 'instant' };
  await Promise.all(
    processes.map((one, i) => one.call('start', i === 0 ? { ...start, retentionMinutes } : start)),
  );
}

export async function readCounters({ client, fleet: { schema } }: Variant): Promise<Counters> {
  // Only the claim selects jobs by time and skips locked rows.
  const { rows } = await client.query<Counters>(
    `SELECT
       (SELECT coalesce(sum(succeeded), 0)::float8 FROM ${schema}.rollups WHERE tenant_id = '${allTenants}') AS syncs,
       (SELECT count(*)::int FROM (
          SELECT FROM ${schema}.sync_jobs WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL
            AND provider_slug = 'stripe' AND priority = 0 AND scheduled_at <= now() LIMIT 1000) w) AS waiting,
       coalesce(sum(calls), 0)::float8 AS claims, coalesce(sum(total_exec_time), 0)::float8 AS "claimMs"
     FROM pg_stat_statements
     WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND query ~* 'skip locked' AND query LIKE '%sync_jobs%' AND query LIKE '%scheduled_at BETWEEN%'`,
  );
  return rows[0] as Counters;
}

export async function verifySignals({ client, fleet, counters: { syncs } }: Variant): Promise<void> {
  const { rows } = await client.query<{ stored: number }>(
    `SELECT n_tup_ins::float8 AS stored FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'signals'`,
    [fleet.schemaName],
  );
  const stored = rows[0]?.stored ?? 0;
  // n_tup_ins includes rows of aborted transactions.
  if (stored < syncs || stored > syncs * 1.01)
    throw new Error(`${syncs} syncs were committed, but ${stored} signals were stored`);
}
