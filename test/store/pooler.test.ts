import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Syncline } from '../../src/index.ts';
import { canListen } from '../../src/store/listener.ts';
import { findBouncer, startBouncer } from '../chaos/bouncer.ts';
import { connector, signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { startOwnKeys } from '../support/own-keys.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

/** Longer than any test waits: only a notification, or a poll that is shortened, finds a job in time. */
const pollIntervalMs = 60_000;
const sessionsInPool = 8;

const poolers = [
  { name: 'PgBouncer', isThere: findBouncer() !== undefined, start: startBouncer },
  { name: 'a proxy that hands out keys of its own', isThere: true, start: startOwnKeys },
];

describe.each(poolers)('DB-5: through $name', ({ isThere, start }) => {
  let pooler: { url: string; stop(): void } | undefined;
  beforeAll(async () => {
    if (!isThere) return;
    // What an engine that relies on it would not survive.
    await sql(
      `ALTER ROLE CURRENT_USER IN DATABASE ${new URL(database.url).pathname.slice(1)} SET DateStyle = 'German'`,
    );
    await sql(
      `ALTER ROLE CURRENT_USER IN DATABASE ${new URL(database.url).pathname.slice(1)} SET default_transaction_isolation = 'serializable'`,
    );
    pooler = await start(database.url);
  });
  afterAll(() => pooler?.stop());

  const engine = (notifyUrl?: string) =>
    database.engine({
      database: { url: pooler?.url, notifyUrl },
      executor: { pollIntervalMs },
      connectors: [connector(({ connection }) => ({ signals: [signal(1, connection.id)] }))],
    });

  /** Triggers a connection whose executor is idle, and waits until it has run. */
  async function runTriggered(syncline: Syncline): Promise<void> {
    const id = await database.connect();
    await syncline.start({ roles: ['executor'] });
    await until('it is idle', async () => (await sql('SELECT FROM processes')).length > 0);
    for (let round = 1; round <= 3; round++) {
      const { jobId } = await syncline.connections.trigger(id);
      await until('it has run', async () => (await syncline.jobs.get(jobId)).status === 'succeeded');
    }
  }

  it.skipIf(!isThere)('DB-5: everything runs, and a trigger does not wait for the long poll', async () => {
    const syncline = engine();
    await runTriggered(syncline);
    expect((await syncline.signals.read()).items).toHaveLength(1);
    expect(await sql('SELECT DISTINCT status, attempts FROM sync_jobs')).toEqual([
      { status: 'succeeded', attempts: 0 },
    ]);
    expect(await syncline.tick()).toMatchObject({ scheduled: 1 });
  });

  it.skipIf(!isThere)('DB-5: notifications come by the direct way, where there is one', async () => {
    const syncline = engine(database.url);
    await runTriggered(syncline);
    const listening = await sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'syncline listen'`,
    );
    expect(listening).toHaveLength(1);
  });

  it.skipIf(!isThere)('DB-5: doctor says that no notifications arrive, and how they would', async () => {
    const check = async (syncline: Syncline) =>
      (await syncline.doctor()).checks.find(({ name }) => name === 'notifications');
    expect(await check(engine())).toMatchObject({
      outcome: 'warning',
      findings: [
        {
          message: expect.stringContaining('SYNCLINE_DATABASE_URL leads to a pooler'),
          remedy: expect.stringContaining('SYNCLINE_DATABASE_NOTIFY_URL'),
        },
      ],
    });
    expect(await check(engine(database.url))).toMatchObject({ outcome: 'ok' });
    expect(await check(engine('postgres://127.0.0.1:1/nowhere'))).toMatchObject({
      outcome: 'warning',
      findings: [{ message: expect.stringContaining('SYNCLINE_DATABASE_NOTIFY_URL cannot be used') }],
    });
  });

  it.skipIf(!isThere)('DB-5: nothing is left on the sessions that it shares: no LISTEN, no SET', async () => {
    await runTriggered(engine());
    // As many transactions at once as the pool has sessions: each is on one of its own.
    const clients = Array.from(
      { length: sessionsInPool },
      () => new pg.Client({ connectionString: pooler?.url }),
    );
    try {
      for (const client of clients) {
        await client.connect();
        await client.query('BEGIN');
        const { rows } = await client.query(
          `SELECT ARRAY(SELECT pg_listening_channels()) AS channels, current_setting('search_path') AS path,
             current_setting('statement_timeout') AS timeout, current_setting('syncline.triggers', true) AS triggers`,
        );
        expect(rows).toEqual([
          { channels: [], path: '"$user", public', timeout: '0', triggers: expect.toBeOneOf([null, '']) },
        ]);
      }
    } finally {
      await Promise.all(clients.map((client) => client.end()));
    }
  });
});

it('DB-5: a direct connection is not taken for a pooled one', async () => {
  expect(await canListen(database.engine().config.database, 10_000)).toBe(true);
});
