import { existsSync, mkdtempSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
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
    /** For `sharedFolder`. */
    runFolder: string;
  }
}

/**
 * One Postgres per vitest project, with a migrated template that every test file copies. TEST_DATABASE_URL
 * selects another server; its user must be able to create databases.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const externalUrl = process.env['TEST_DATABASE_URL'];
  const server = externalUrl ? undefined : await startDisposable();
  const serverUrl = externalUrl ?? (server?.url as string);
  const templateDatabase = `syncline_template_${process.pid}_${project.name}`;

  await onServer(serverUrl, (client) => client.query(`CREATE DATABASE ${templateDatabase}`));
  const { config } = loadConfig({ options: { database: databaseUrl(serverUrl, templateDatabase) } });
  await migrate(config.database, { ports: systemPorts, onProgress: () => {} });
  project.provide('serverUrl', serverUrl);
  project.provide('templateDatabase', templateDatabase);
  const runFolder = realpathSync(mkdtempSync(join(tmpdir(), 'syncline-run-')));
  project.provide('runFolder', runFolder);

  return async () => {
    await onServer(serverUrl, (client) =>
      client.query(`DROP DATABASE IF EXISTS ${templateDatabase} WITH (FORCE)`),
    );
    await server?.stop();
    rmSync(runFolder, { recursive: true, force: true });
  };
}

async function startDisposable() {
  const server = await startEmbeddedPostgres({
    ports: systemPorts,
    folder: mkdtempSync(join(disposableRoot(), 'syncline-test-')),
    keep: false,
    settings: {
      // The data is discarded, and tests that kill Postgres start their own server.
      fsync: 'off',
      synchronous_commit: 'off',
      full_page_writes: 'off',
      wal_level: 'minimal',
      max_wal_senders: '0',
      // Autovacuum would update statistics and hold snapshots at random times, which changes counts in tests.
      autovacuum_naptime: '1d',
      max_connections: '300',
      shared_buffers: '32MB',
    },
  });
  const { username, password } = new URL(server.url);
  // A login with the default 4096 iterations takes twice as much CPU time, and tests log in thousands of times.
  await onServer(server.url, (client) =>
    client.query(
      `SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD ${client.escapeLiteral(password)}`,
    ),
  );
  return server;
}

/** Creating and dropping hundreds of databases takes less CPU time in memory (tmpfs) than on ext4. */
function disposableRoot(): string {
  const memory = '/dev/shm';
  if (!existsSync(memory) || freemem() < minFreeBytes) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize < minFreeBytes ? tmpdir() : memory;
}

/** A run at full size uses less than a gigabyte. */
const minFreeBytes = 4 * 2 ** 30;

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
