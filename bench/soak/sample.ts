import type pg from 'pg';
import { allTenants, type Fleet, readSizes } from '../tools/fleet.ts';
import { firstJob, firstSignal, type Violation } from './invariants.ts';
import type { Plan } from './plan.ts';
import type { ProcessReport } from './processes.ts';

/** The checks run at the start of a minute and delay syncs. The last seconds show the undisturbed lag. */
export const undisturbedSeconds = 20;

export interface Sample extends Awaited<ReturnType<typeof readSample>> {
  minute: number;
  processes: ProcessReport[];
  violations: Violation[];
  checksMs: number;
}

/** Counters; a minute is the difference of two. */
export type Meter = Awaited<ReturnType<typeof readMeter>>;

export async function readMeter(client: pg.Client, { schema }: Fleet) {
  const { rows } = await client.query<{ syncs: number; walBytes: number }>(
    `SELECT (SELECT coalesce(sum(succeeded), 0) FROM ${schema}.rollups WHERE tenant_id = '${allTenants}')::float8 AS syncs,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS "walBytes"`,
  );
  return { atMs: performance.now(), syncs: 0, walBytes: 0, ...rows[0] };
}

export async function readSample(client: pg.Client, fleet: Fleet, before: Meter, after: Meter) {
  const { schema } = fleet;
  const seconds = (after.atMs - before.atMs) / 1000;
  const syncs = after.syncs - before.syncs;
  const { rows } = await client.query<{ open: number; jobs: number; signals: number }>(
    `SELECT
       (SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid())::float8 AS open,
       coalesce(extract(epoch FROM now() - (${firstJob(schema)})), 0)::float8 AS jobs,
       coalesce(extract(epoch FROM now() - (${firstSignal(schema)})), 0)::float8 AS signals`,
  );
  const { open = 0, jobs = 0, signals = 0 } = rows[0] ?? {};
  const tables: Record<string, { mb: number; deadRows: number }> = {};
  for (const { table, totalBytes, deadRows } of await readSizes(client, fleet))
    tables[table] = { mb: totalBytes / 2 ** 20, deadRows };
  return {
    syncsPerSecond: syncs / seconds,
    walBytesPerSync: (after.walBytes - before.walBytes) / Math.max(1, syncs),
    lagMs: await readLag(client, schema, seconds),
    undisturbedLagMs: await readLag(client, schema, undisturbedSeconds),
    tables,
    databaseConnections: open,
    oldestSeconds: { jobs, signals },
  };
}

/** From due to start, of first attempts that ended in the last seconds. The due time of a retry is not stored. */
async function readLag(client: pg.Client, schema: string, seconds: number) {
  const { rows } = await client.query<{ p50: number; p99: number; max: number }>(
    `SELECT coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY lag), 0)::float8 AS p50,
       coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY lag), 0)::float8 AS p99, coalesce(max(lag), 0)::float8 AS max
     FROM (
       SELECT extract(epoch FROM started_at - scheduled_at) * 1000 AS lag FROM ${schema}.sync_jobs
       WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed') AND attempts = 0
         AND coalesce(finished_at, updated_at) > now() - $1::float8 * interval '1 s') ended`,
    [seconds],
  );
  return rows[0] ?? { p50: 0, p99: 0, max: 0 };
}

export const steadyOf = (samples: Sample[], { warmUpMinutes }: Plan) =>
  samples.filter(({ minute }) => minute > warmUpMinutes);
