import type pg from 'pg';
import { readSizes } from '../growth/sizes.ts';
import { firstJob, firstSignal, type Violation } from './invariants.ts';
import type { Plan } from './plan.ts';
import type { ProcessReport } from './worker.ts';

interface Lag {
  p50: number;
  p99: number;
  most: number;
}

/** By then a look for violations is over, and what it held up has been caught up with. */
export const undisturbedSeconds = 20;

/** What a minute of load was like. */
export interface Sample {
  minute: number;
  syncsPerSecond: number;
  /** From when runs were due until they began. */
  lagMs: Lag;
  /** Of the end of the minute alone. What looks for violations takes from the fleet at the beginning. */
  undisturbedLagMs: Lag;
  /** Jobs that were due and had not begun at the end of the minute. */
  waiting: number;
  tables: Record<string, { mb: number; indexMb: number; deadRows: number }>;
  walBytesPerSync: number;
  databaseConnections: number;
  /** How long the oldest job and signal have been kept, in seconds. */
  keptSeconds: { jobs: number; signals: number };
  processes: ProcessReport[];
  violations: Violation[];
  /** What it took to look for them. */
  checksMs: number;
}

/** What only ever grows; a minute is the difference of two. */
export interface Meter {
  atMs: number;
  syncs: number;
  walBytes: number;
}

export async function readMeter(client: pg.Client, schema: string): Promise<Meter> {
  const { rows } = await client.query<Omit<Meter, 'atMs'>>(
    `SELECT (SELECT coalesce(sum(succeeded), 0) FROM ${schema}.rollups
        WHERE tenant_id = '00000000-0000-0000-0000-000000000000')::float8 AS syncs,
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS "walBytes"`,
  );
  return { atMs: performance.now(), syncs: 0, walBytes: 0, ...rows[0] };
}

type FromDatabase = Omit<Sample, 'processes' | 'violations' | 'checksMs'>;

export async function readSample(
  client: pg.Client,
  schema: string,
  { minute, before, after }: { minute: number; before: Meter; after: Meter },
): Promise<FromDatabase> {
  const seconds = (after.atMs - before.atMs) / 1000;
  const syncs = after.syncs - before.syncs;
  return {
    minute,
    syncsPerSecond: syncs / seconds,
    walBytesPerSync: (after.walBytes - before.walBytes) / Math.max(1, syncs),
    lagMs: await readLag(client, schema, seconds),
    undisturbedLagMs: await readLag(client, schema, undisturbedSeconds),
    tables: await readTables(client, schema),
    ...(await readPresent(client, schema)),
  };
}

/** Of the first tries that ended in the last so many seconds: when a later one was due is no longer known. */
async function readLag(client: pg.Client, schema: string, seconds: number): Promise<Lag> {
  const { rows } = await client.query<Lag>(
    `SELECT coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY lag), 0)::float8 AS p50,
       coalesce(percentile_disc(0.99) WITHIN GROUP (ORDER BY lag), 0)::float8 AS p99, coalesce(max(lag), 0)::float8 AS most
     FROM (
       SELECT extract(epoch FROM started_at - scheduled_at) * 1000 AS lag FROM ${schema}.sync_jobs
       WHERE status IN ('succeeded', 'failed', 'cancelled', 'completed') AND attempts = 0
         AND coalesce(finished_at, updated_at) > now() - $1::float8 * interval '1 s') ended`,
    [seconds],
  );
  return rows[0] ?? { p50: Number.NaN, p99: Number.NaN, most: Number.NaN };
}

async function readTables(client: pg.Client, schema: string): Promise<Sample['tables']> {
  const sizes = await readSizes(client, schema.replaceAll('"', ''));
  return Object.fromEntries(
    sizes.map(({ table, totalBytes, indexBytes, deadRows }) => [
      table,
      { mb: totalBytes / 2 ** 20, indexMb: indexBytes / 2 ** 20, deadRows },
    ]),
  );
}

async function readPresent(client: pg.Client, schema: string) {
  const { rows } = await client.query<{ waiting: number; open: number; jobs: number; signals: number }>(
    `SELECT
       (SELECT count(*) FROM ${schema}.sync_jobs
        WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at <= now())::float8 AS waiting,
       (SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid())::float8 AS open,
       coalesce(extract(epoch FROM now() - (${firstJob(schema)})), 0)::float8 AS jobs,
       coalesce(extract(epoch FROM now() - (${firstSignal(schema)})), 0)::float8 AS signals`,
  );
  const { waiting = 0, open = 0, jobs = 0, signals = 0 } = rows[0] ?? {};
  return { waiting, databaseConnections: open, keptSeconds: { jobs, signals } };
}

/** The minutes in which as much is deleted as is added. */
export const steadyOf = (samples: Sample[], { warmUpMinutes }: Plan) =>
  samples.filter(({ minute }) => minute > warmUpMinutes);
