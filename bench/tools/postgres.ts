import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemPorts } from '../../dist/index.js';
import { startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { progress, whole } from './text.ts';

/** One embedded Postgres server that all subjects of a benchmark share. */
export interface Bench {
  client: pg.Client;
  /** Runs `work` on a new database, which is dropped afterwards. */
  withDatabase<T>(name: string, work: (client: pg.Client, url: string) => Promise<T>): Promise<T>;
}

export const postgresSettings = {
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  shared_preload_libraries: 'pg_stat_statements',
  // Only the growth benchmark enables it, for its own databases.
  'pg_stat_statements.track': 'none',
};

/** Runs `work` on a temporary Postgres server with fsync on, and prints the text it returns. */
export async function withPostgres(
  work: (bench: Bench) => Promise<string>,
  settings: Record<string, string> = postgresSettings,
): Promise<void> {
  const started = performance.now();
  progress('starting Postgres');
  const folder = mkdtempSync(join(tmpdir(), 'syncline-bench-'));
  const postgres = await startEmbeddedPostgres({ ports: systemPorts, folder, keep: false, settings });
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interrupted = true;
      void postgres.stop().finally(() => process.exit(130));
    });
  }
  try {
    console.log(await withClient(postgres.url, (client) => work(createBench(client, postgres.url))));
    progress(`done in ${whole((performance.now() - started) / 1000)} s`);
  } catch (error) {
    // An interrupt stops the server, so running statements fail.
    if (!interrupted) throw error;
  } finally {
    await postgres.stop();
  }
}

function createBench(client: pg.Client, serverUrl: string): Bench {
  return {
    client,
    withDatabase: async (name, work) => {
      const drop = `DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`;
      await client.query(drop);
      await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
      const { href } = Object.assign(new URL(serverUrl), { pathname: `/${name}` });
      try {
        return await withClient(href, (own) => work(own, href));
      } finally {
        await client.query(drop);
      }
    },
  };
}

/** Ignores the loss of an idle session: its database may be dropped first. */
export async function connectTo(url: string, options: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, ...options });
  client.on('error', () => {});
  await client.connect();
  return client;
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connectTo(url);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function openPool(url: string, max: number): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  await pool.query('SELECT 1');
  return pool;
}

/** Throws unless `from`, the text after FROM, yields `count` rows. */
export async function requireCount(client: pg.Client, from: string, count: number): Promise<void> {
  const { rows } = await client.query<{ found: number }>(`SELECT count(*)::int AS found FROM ${from}`);
  if (rows[0]?.found !== count) throw new Error(`${rows[0]?.found} rows instead of ${count} in ${from}`);
}
