import { expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { untilSessionsEnd } from '../support/sessions.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql } = database;

it('FEED-1: a page within a large transaction reads only its own index entries', async () => {
  const connection = await database.connect();
  const store = (signals: number) =>
    sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'github', $2, 'opened', now(), '{}' FROM generate_series(1, $3)`,
      [tenant, connection, signals],
    );
  for (let i = 0; i < 20; i++) await store(2000);
  const syncline = database.engine();
  let { nextCursor: after } = await syncline.signals.read({ after: 'latest' });
  await store(5000);
  await sql('ANALYZE signals');
  let seen = 0;
  for (let page = 0; page < 50; page++) {
    const { items, nextCursor } = await syncline.signals.read({ after, limit: 100 });
    seen += items.length;
    after = nextCursor;
  }
  expect(seen).toBe(5000);
  await syncline.stop();
  // Sessions flush their counters at the latest when they end.
  await until('the sessions of the engine have ended', async () => {
    const sessions = await sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'syncline'`,
    );
    return sessions.length === 0;
  });
  const [row] = await sql<{ read: number }>(
    `SELECT idx_tup_read::int AS read FROM pg_stat_user_indexes WHERE indexrelname = 'idx_signals_batch'`,
  );
  // Rescanning from the start of the transaction would read 127,500 entries.
  expect(row?.read).toBeGreaterThanOrEqual(5000);
  expect(row?.read).toBeLessThan(6000);
});

it.each([
  { statistics: 'no statistics', prepare: async () => {} },
  { statistics: 'statistics of one large transaction', prepare: () => sql('ANALYZE signals') },
])(
  'FEED-1: a tenant reads only its own index entries of a shared transaction: $statistics',
  async ({ prepare }) => {
    await sql('TRUNCATE signals');
    const connection = await database.connect();
    const syncline = database.engine();
    const { nextCursor: after } = await syncline.signals.read({ after: 'latest' });
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT CASE WHEN n % 200 = 0 THEN $1::uuid ELSE gen_random_uuid() END, 'github', $2, 'opened', now(), '{}' FROM generate_series(1, 10000) n`,
      [tenant, connection],
    );
    await prepare();
    const read = async () => {
      await untilSessionsEnd(database);
      const client = await database.session();
      const { rows } = await client.query<{ n: number }>(
        `SELECT sum(idx_tup_read)::int AS n FROM pg_stat_user_indexes WHERE relname = 'signals'`,
      );
      await client.end();
      return rows[0]?.n ?? Number.NaN;
    };
    await syncline.stop();
    const before = await read();
    const reader = database.engine();
    const view = reader.as({ tenantId: tenant, actor: 'test' });
    expect((await view.signals.read({ after, limit: 100 })).items).toHaveLength(50);
    await reader.stop();
    expect((await read()) - before).toBeLessThan(200);
  },
);
