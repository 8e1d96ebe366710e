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

/** Longer than any test: only a notification or a shortened poll finds a job in time. */
const pollIntervalMs = 60_000;
const sessionsInPool = 8;

const poolers = [
  { name: 'PgBouncer', isAvailable: findBouncer() !== undefined, start: startBouncer },
  { name: 'a proxy with its own cancel keys', isAvailable: true, start: startOwnKeys },
];

describe.each(poolers)('DB-5: through $name', ({ isAvailable, start }) => {
  let pooler: { url: string; stop(): void } | undefined;
  beforeAll(async () => {
    if (!isAvailable) return;
    // Role settings that break an engine relying on session defaults.
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

  /** Triggers a connection three times while the executor is idle, and waits for each run. */
  async function runTriggered(syncline: Syncline): Promise<void> {
    const id = await database.connect();
    await syncline.start({ roles: ['executor'] });
    await until('it is idle', async () => (await sql('SELECT FROM processes')).length > 0);
    for (let round = 1; round <= 3; round++) {
      const { jobId } = await syncline.connections.trigger(id);
      await until('it has run', async () => (await syncline.jobs.get(jobId)).status === 'succeeded');
    }
  }

  it.skipIf(!isAvailable)('DB-5: jobs run, and a trigger does not wait for the poll interval', async () => {
    const syncline = engine();
    await runTriggered(syncline);
    expect((await syncline.signals.read()).items).toHaveLength(1);
    expect(await sql('SELECT DISTINCT status, attempts FROM sync_jobs')).toEqual([
      { status: 'succeeded', attempts: 0 },
    ]);
    expect(await syncline.tick()).toMatchObject({ scheduled: 1 });
  });

  it.skipIf(!isAvailable)('DB-5: notifications use notifyUrl if configured', async () => {
    const syncline = engine(database.url);
    await runTriggered(syncline);
    const listening = await sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'syncline listen'`,
    );
    expect(listening).toHaveLength(1);
  });

  it.skipIf(!isAvailable)('DB-5: doctor reports missing notifications and the fix', async () => {
    const check = async (syncline: Syncline) =>
      (await syncline.doctor()).checks.find(({ name }) => name === 'notifications');
    expect(await check(engine())).toMatchObject({
      outcome: 'warning',
      findings: [
        {
          message: expect.stringContaining('SYNCLINE_DATABASE_URL points to a pooler'),
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

  it.skipIf(!isAvailable)('DB-5: leaves no LISTEN and no SET on shared sessions', async () => {
    await runTriggered(engine());
    // One open transaction per pooled session, so that each session is checked.
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

it('DB-5: a direct connection is not detected as pooled', async () => {
  expect(await canListen(database.engine().config.database, 10_000)).toBe(true);
});
