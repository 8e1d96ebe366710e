import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { createSyncline, type Syncline, type SynclineOptions } from '../../src/index.ts';
import { databaseUrl, onServer } from './postgres.ts';

export interface TestDatabase {
  url: string;
  /** Runs SQL with the engine's schema on the search path. */
  sql<Row extends object = Record<string, unknown>>(text: string, values?: unknown[]): Promise<Row[]>;
  /** An engine on this database; stopped when the test ends. */
  engine(options?: SynclineOptions): Syncline;
  /** Inserts a connection with just the columns that are needed, and others as given. */
  connect(columns?: ConnectionColumns): Promise<string>;
  /** Inserts an incremental job that has ended. */
  ended(connectionId: string, finishedAt: string, status?: string): Promise<void>;
  /** Inserts a job: incremental, queued and due long ago, unless the columns say otherwise. */
  job(connectionId: string, columns?: Record<string, unknown>): Promise<string>;
  /** A session of its own, to hold a transaction open in; ended when the test ends, or sooner by the test. */
  session(): Promise<pg.Client>;
  /** Removes every connection, job and signal. */
  empty(): Promise<void>;
}

export interface ConnectionColumns {
  status?: string;
  metadata?: unknown;
  created_at?: string;
}

/** A database of its own for the test file, copied from the migrated template. */
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
      // However busy the machine is, requests are not refused for it.
      const server = { maxLoopDelayMs: 60_000, ...options?.server };
      const engine = createSyncline({ database: database.url, logger: silent, ...options, server });
      engines.push(engine);
      return engine;
    },
    connect: async (columns = {}) => {
      const given = { tenant_id: tenant, provider_slug: 'github', ...columns };
      const values = Object.values(given).map((value) =>
        typeof value === 'object' ? JSON.stringify(value) : value,
      );
      const [row] = await database.sql<{ id: string }>(
        `INSERT INTO connections (${Object.keys(given).join(', ')}) VALUES (${values.map((_, i) => `$${i + 1}`).join(', ')}) RETURNING id`,
        values,
      );
      return (row as { id: string }).id;
    },
    ended: async (connectionId, finishedAt, status = 'succeeded') => {
      await database.sql(
        `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at)
         VALUES ($1, 'github', $2, 'incremental', $3, $4)`,
        [tenant, connectionId, status, finishedAt],
      );
    },
    job: async (connectionId, columns = {}) => {
      const given = {
        tenant_id: tenant,
        provider_slug: 'github',
        connection_id: connectionId,
        job_type: 'incremental',
        scheduled_at: '2025-01-01T00:00:00Z',
        ...columns,
      };
      const values = Object.values(given);
      const [row] = await database.sql<{ id: string }>(
        `INSERT INTO sync_jobs (${Object.keys(given).join(', ')}) VALUES (${values.map((_, i) => `$${i + 1}`).join(', ')}) RETURNING id`,
        values,
      );
      return (row as { id: string }).id;
    },
    session: async () => {
      const client = new pg.Client({ connectionString: database.url });
      sessions.push(client);
      await client.connect();
      return client;
    },
    empty: async () => {
      await database.sql(
        'TRUNCATE connections, sync_jobs, signals, processes, events, credentials, deletions CASCADE',
      );
    },
  };

  beforeAll(async () => {
    const serverUrl = inject('serverUrl');
    await onServer(serverUrl, (client) =>
      client.query(`CREATE DATABASE ${name} TEMPLATE ${inject('templateDatabase')}`),
    );
    database.url = databaseUrl(serverUrl, name);
    pool = new pg.Pool({ connectionString: database.url, options: '-c search_path=syncline', max: 4 });
    // Its end resolves a moment before its last socket is closed, which the forced drop below may then cut off.
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

/** The tenant that every test database has. */
export const tenant = '00000000-0000-4000-8000-000000000001';

export const silent = pino({ level: 'silent' });
