import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { loadConfig } from '../../src/config/load.ts';
import { startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { migrate } from '../../src/store/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string;
    templateDatabase: string;
  }
}

/**
 * One real Postgres for each project of the run, and in it a migrated database that every test file copies. To run against another
 * server, name it in TEST_DATABASE_URL; its user must be allowed to create databases.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = process.env['TEST_DATABASE_URL'];
  const server = given ? undefined : await startDisposable();
  const serverUrl = given ?? (server?.url as string);
  const templateDatabase = `syncline_template_${process.pid}_${project.name}`;

  await onServer(serverUrl, (client) => client.query(`CREATE DATABASE ${templateDatabase}`));
  const { config } = loadConfig({ options: { database: databaseUrl(serverUrl, templateDatabase) } });
  await migrate(config.database, { ports: systemPorts, onBlocked: () => {} });
  project.provide('serverUrl', serverUrl);
  project.provide('templateDatabase', templateDatabase);

  return async () => {
    await onServer(serverUrl, (client) =>
      client.query(`DROP DATABASE IF EXISTS ${templateDatabase} WITH (FORCE)`),
    );
    await server?.stop();
  };
}

function startDisposable() {
  return startEmbeddedPostgres({
    folder: mkdtempSync(join(tmpdir(), 'syncline-test-')),
    keep: false,
    // Nothing here outlives the run, and no test pulls the plug on this server: those start one of their own.
    // Autovacuum renews statistics and holds snapshots at times of its own, which changes what tests count.
    settings: { fsync: 'off', max_connections: '300', autovacuum_naptime: '1d' },
  });
}

export function databaseUrl(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.href;
}

export async function onServer<T>(serverUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
