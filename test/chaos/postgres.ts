import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, freePort, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { until } from '../support/until.ts';
import type { Disk } from './disk.ts';

export type Sql = <Row extends object = Record<string, unknown>>(
  text: string,
  values?: unknown[],
) => Promise<Row[]>;

/** The Postgres of the run. It is killed and comes back, always at the same address. */
export interface ChaosPostgres {
  url: string;
  /** Past every network. Fails while Postgres is away. */
  sql: Sql;
  /** A session of its own. */
  session(): Promise<pg.Client>;
  /** Has the server end, however told, and waits until it is gone. */
  end(signal: 'SIGKILL' | 'SIGQUIT' | 'SIGINT'): Promise<void>;
  /** Starts it if it does not run, and returns when it is there: its own time. */
  start(): Promise<Date>;
  stop(): Promise<void>;
}

const settings = {
  // The fleet takes at most 40 of them.
  max_connections: '60',
  // What one kind of fault waits for, and how soon a commit was after another.
  track_commit_timestamp: 'on',
  shared_buffers: '64MB',
  // A disk in memory.
  max_wal_size: '128MB',
  min_wal_size: '32MB',
};

export async function openPostgres(disk: Disk): Promise<ChaosPostgres> {
  const port = await freePort();
  const folder = join(disk.folder, 'postgres');
  const launch = () => startEmbeddedPostgres({ folder, keep: true, port, settings });
  let server: EmbeddedPostgres = await launch();
  const { url } = server;
  // Its sessions have no name: by that the checker knows that somebody else than the engine writes.
  const pool = new pg.Pool({
    connectionString: url,
    max: 4,
    connectionTimeoutMillis: 5000,
    query_timeout: 15_000,
    // What is found out about a server that is read-only must not itself be refused.
    options: '-c default_transaction_read_only=off',
  });
  pool.on('error', () => {});
  const sql: Sql = async <Row extends object>(text: string, values?: unknown[]) =>
    (await pool.query<Row>(text, values)).rows;
  const isThere = () =>
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
      await until('Postgres is gone', () => !isAlive(server.pid));
      await server.stop();
    },
    start: async () => {
      // Children outlive a postmaster that was killed by a moment; until then its data folder is taken.
      await until(
        'Postgres is back',
        async () => {
          if (isAlive(server.pid) && (await isThere())) return true;
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
