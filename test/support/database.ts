import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { createSyncline, type Syncline, type SynclineOptions } from '../../src/index.ts';
import { databaseUrl, onServer } from './postgres.ts';

export interface TestDatabase {
  url: string;
  /** With `syncline` as search_path. */
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** An engine on this database; stopped when the test ends. */
  engine(options?: SynclineOptions): Syncline;
  /** Adds the required columns. */
  connect(columns?: ConnectionColumns): Promise<string>;
  ended(connectionId: string, finishedAt: string, status?: string): Promise<void>;
  /** Default: incremental, queued and due. */
  job(connectionId: string, columns?: Record<string, unknown>): Promise<string>;
  /** A separate session; closed at the end of the test. */
  session(): Promise<pg.Client>;
  empty(): Promise<void>;
}

export interface ConnectionColumns {
  status?: string;
  metadata?: unknown;
  created_at?: string;
}

/** A database for the test file, copied from the migrated template. */
export function useDatabase(): TestDatabase {
  const name = `syncline_test_${randomUUID().replaceAll('-', '')}`;
  const engines: Syncline[] = [];
  const sessions: pg.Client[] = [];
  let pool: pg.Pool;
  const database: TestDatabase = {
    url: '',
    sql: async <Row extends object>(text: string, values?: unknown[]) =>
      (await pool.query<Row>(text, values)).rows,
    engine: (options) => {
      // Requests must not be rejected on a busy machine.
      const server = { maxLoopDelayMs: 60_000, ...options?.server };
      const engine = createSyncline({ database: database.url, logger: silent, ...options, server });
      engines.push(engine);
      return engine;
    },
    connect: async (columns = {}) => {
      const row = { tenant_id: tenant, provider_slug: 'github', ...columns };
      const values = Object.values(row).map((value) =>
        typeof value === 'object' ? JSON.stringify(value) : value,
      );
      const [inserted] = await database.sql<{ id: string }>(
        `INSERT INTO connections (${Object.keys(row).join(', ')}) VALUES (${values.map((_, i) => `$${i + 1}`).join(', ')}) RETURNING id`,
        values,
      );
      return (inserted as { id: string }).id;
    },
    ended: async (connectionId, finishedAt, status = 'succeeded') => {
      await database.sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
         VALUES ($1, 'github', $2, 'incremental', $3, $4)`,
        [tenant, connectionId, status, finishedAt],
      );
    },
    job: async (connectionId, columns = {}) => {
      const row = {
        tenant_id: tenant,
        provider_slug: 'github',
        connection_id: connectionId,
        job_type: 'incremental',
        scheduled_at: '2025-01-01T00:00:00Z',
        ...columns,
      };
      const values = Object.values(row);
      const [inserted] = await database.sql<{ id: string }>(
        `INSERT INTO sync_jobs (${Object.keys(row).join(', ')}) VALUES (${values.map((_, i) => `$${i + 1}`).join(', ')}) RETURNING id`,
        values,
      );
      return (inserted as { id: string }).id;
    },
    session: async () => {
      const client = new pg.Client({ connectionString: database.url });
      sessions.push(client);
      await client.connect();
      return client;
    },
    empty: async () => {
      await database.sql(emptyTables);
    },
  };

  beforeAll(async () => {
    const serverUrl = inject('serverUrl');
    await onServer(serverUrl, (client) =>
      // With fsync off, copying files is faster than copying blocks through WAL.
      client.query(`CREATE DATABASE ${name} TEMPLATE ${inject('templateDatabase')} STRATEGY FILE_COPY`),
    );
    database.url = databaseUrl(serverUrl, name);
    pool = new pg.Pool({ connectionString: database.url, options: '-c search_path=syncline', max: 4 });
    // The forced drop below may terminate the last socket after pool.end().
    pool.on('error', () => {});
    await database.sql(`INSERT INTO tenants (id, name) VALUES ($1, 'a tenant')`, [tenant]);
    await database.sql(`INSERT INTO providers (slug) VALUES ('github')`);
  });
  afterEach(async () => {
    await Promise.all(sessions.splice(0).map((client) => client.end()));
    await Promise.all(engines.splice(0).map((engine) => engine.stop()));
  });
  afterAll(async () => {
    await pool?.end();
    await onServer(inject('serverUrl'), (client) =>
      client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    );
  });
  return database;
}

/** With budgets: for two seconds after its window a budget grants nothing, and the jobs of a later test would park. */
const emptied = [
  'signals',
  'sync_jobs',
  'connections',
  'credentials',
  'processes',
  'events',
  'deletions',
  'budgets',
];

/** TRUNCATE replaces the files of all tables and indexes, which takes 20 ms; deleting a few rows takes 1 ms. */
const emptyTables = `DO $$ BEGIN
  IF ${emptied.map((name) => `pg_relation_size('${name}')`).join(' + ')} > 500000 THEN
    TRUNCATE ${emptied.join(', ')} CASCADE;
  ELSE
    ${emptied.map((name) => `DELETE FROM ${name};`).join('\n    ')}
  END IF;
END $$`;

export const tenant = '00000000-0000-4000-8000-000000000001';

export const silent = pino({ level: 'silent' });
