import pg from 'pg';
import type { EngineProcess } from '../engine/engine.ts';
import type { StartOrder } from '../engine/worker.ts';
import { connectTo } from '../tools/client.ts';
import { fillCycling } from '../tools/cycling.ts';
import { createFleet, type Fleet } from '../tools/fleet.ts';
import { type Counts, readCounts } from './statements.ts';

export type VariantName = 'plain' | 'held';

/** A database of its own. A snapshot that is held in one keeps vacuum from nothing in another. */
export interface Variant {
  name: VariantName;
  url: string;
  client: pg.Client;
  fleet: Fleet;
  /** Holds a snapshot, from the first minute to the last. */
  holder?: pg.Client;
  counts: Counts;
  /** Syncs that were committed so far, as the engine's own statistics count them. */
  committed: number;
}

/** The shortest that the engine knows. */
const intervalSeconds = 60;
const dayMs = 24 * 3600 * 1000;
const executor = { concurrency: 400, claimBatch: 200 };

export async function createVariant(name: VariantName, url: string, connections: number): Promise<Variant> {
  const client = await connectTo(url);
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements');
  const database = pg.escapeIdentifier(new URL(url).pathname.slice(1));
  await client.query(`ALTER DATABASE ${database} SET pg_stat_statements.track = 'top'`);
  const fleet = await createFleet(client, url, connections, 'growth');
  const from = new Date(Date.now() - intervalSeconds * 1000);
  await fillCycling(client, fleet, {
    due: connections,
    from,
    cycleSeconds: intervalSeconds,
    intervalSeconds,
  });
  return { name, url, client, fleet, counts: await readCounts(client), committed: 0 };
}

export async function closeVariant({ client, fleet, holder }: Variant): Promise<void> {
  await holder?.end();
  await Promise.all([client.end(), fleet.engine.stop()]);
}

/** Holds a snapshot from now on. */
export async function holdSnapshot(variant: Variant): Promise<void> {
  variant.holder = await connectTo(variant.url);
  await variant.holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await variant.holder.query('SELECT 1 FROM pg_class LIMIT 1');
}

/** All processes schedule and run; the first also deletes what has been kept long enough. */
export async function startVariant(
  { url, fleet }: Variant,
  processes: EngineProcess[],
  retentionMinutes: number,
): Promise<void> {
  const options: StartOrder['options'] = {
    database: { url, schema: fleet.engine.config.database.schema },
    executor,
    retention: { endedJobsDays: 1, signalsDays: 1 },
  };
  await Promise.all(
    processes.map((one, i) =>
      one.tell({
        action: 'start',
        roles: ['scheduler', 'executor'],
        options,
        ...(i === 0 && { janitorAheadMs: dayMs - retentionMinutes * 60_000 }),
      }),
    ),
  );
}

export interface Progress {
  committed: number;
  /** Jobs that are due and have not begun; counted up to 1,000: enough to know that nobody waited for work. */
  waiting: number;
}

export async function readProgress({ client, fleet: { schema } }: Variant): Promise<Progress> {
  const { rows } = await client.query<Progress>(
    `SELECT
       (SELECT coalesce(sum(succeeded), 0)::float8 FROM ${schema}.rollups WHERE tenant_id = '00000000-0000-0000-0000-000000000000')
         AS committed,
       (SELECT count(*)::int FROM (
          SELECT FROM ${schema}.sync_jobs WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL
            AND provider_slug = 'stripe' AND priority = 0 AND scheduled_at <= now() LIMIT 1000) w) AS waiting`,
  );
  return rows[0] ?? { committed: 0, waiting: 0 };
}

/** Throws if more or fewer signals than syncs were stored. */
export async function verifyCommitted({
  client,
  fleet: { schema, name },
  committed,
}: Variant): Promise<void> {
  const { rows } = await client.query<{ stored: number }>(
    `SELECT n_tup_ins::float8 AS stored FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'signals'`,
    [schema.replaceAll('"', '')],
  );
  const stored = rows[0]?.stored ?? 0;
  // What a transaction wrote that did not commit counts for Postgres too.
  if (stored < committed || stored > committed * 1.01)
    throw new Error(`${name}: ${committed} syncs, but ${stored} signals were stored`);
}
