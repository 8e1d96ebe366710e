import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, freePort, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { until } from '../support/until.ts';
import type { Disk } from './disk.ts';

export type Sql = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: unknown[],
) => Promise<Row[]>;

/** The Postgres of the run. It restarts on the same port. */
export interface ChaosPostgres {
  url: string;
  /** Bypasses network and pooler. Fails while Postgres is down. */
  sql: Sql;
  session(): Promise<pg.Client>;
  end(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<void>;
  /** Returns the time of the server once it accepts connections. */
  start(): Promise<Date>;
  stop(): Promise<void>;
}

const settings = {
  // The fleet uses at most 40.
  max_connections: '60',
  // Measures the first commit after a restart.
  track_commit_timestamp: 'on',
  shared_buffers: '64MB',
  // The data folder is in memory.
  max_wal_size: '128MB',
  min_wal_size: '32MB',
};

export async function openPostgres(disk: Disk): Promise<ChaosPostgres> {
  const port = await freePort();
  const folder = join(disk.folder, 'postgres');
  const launch = () => startEmbeddedPostgres({ ports: systemPorts, folder, keep: true, port, settings });
  let server: EmbeddedPostgres = await launch();
  const { url } = server;
  // No application_name: the checker treats these writes as foreign.
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: 5000,
    query_timeout: 15_000,
    // This pool must be able to write during the read-only fault.
    options: '-c default_transaction_read_only=off',
  });
  pool.on('error', () => {});
  const sql: Sql = async <Row extends object>(text: string, values?: unknown[]) =>
    (await pool.query<Row>(text, values)).rows;
  const isReachable = () =>
    sql('SELECT').then(
      () => true,
      () => false,
    );

  return {
    url,
    sql,
    session: async () => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      return client;
    },
    end: async (signal) => {
      if (isAlive(server.pid)) process.kill(server.pid, signal);
      await until('Postgres has exited', () => !isAlive(server.pid));
      await server.stop();
    },
    start: async () => {
      // Backends outlive a killed postmaster for a moment and keep its data folder locked.
      await until(
        'Postgres accepts connections',
        async () => {
          if (isAlive(server.pid) && (await isReachable())) return true;
          if (!isAlive(server.pid)) server = await launch().catch(() => server);
          return false;
        },
        60_000,
      );
      const [row] = await sql<{ at: Date }>('SELECT clock_timestamp() AS at');
      return row?.at as Date;
    },
    stop: async () => {
      await pool.end().catch(() => {});
      await server.stop();
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
