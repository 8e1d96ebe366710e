import pg from 'pg';
import { onPostgres } from './server.ts';

/** The one Postgres on which everything is measured, the same for all. */
export interface Bench {
  client: pg.Client;
  /** Of the database `postgres`, as a superuser. */
  url: string;
  /** New and empty; one of that name is dropped before. Returns its address. */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
}

export const postgresSettings = {
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  // Loaded for what counts statements, and counting nothing anywhere else.
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
};

export function onBench(run: (bench: Bench) => Promise<string>): Promise<void> {
  return onPostgres(postgresSettings, (client, url) => run(createBench(client, url)));
}

function createBench(client: pg.Client, url: string): Bench {
  const dropDatabase = async (name: string) => {
    await client.query(`DROP DATABASE IF EXISTS ${pg.escapeIdentifier(name)} WITH (FORCE)`);
  };
  return {
    client,
    url,
    dropDatabase,
    createDatabase: async (name) => {
      await dropDatabase(name);
      await client.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`);
      const address = new URL(url);
      address.pathname = `/${name}`;
      return address.href;
    },
  };
}
