import { beforeEach, expect, it } from 'vitest';
import { type Connector, type SyncContext, TransientError } from '../../../src/index.ts';
import { memoryContext } from '../../../src/testing/context.ts';
import { tenant, useDatabase } from '../../support/database.ts';
import { sized } from '../../support/size.ts';
import { useSource } from './source.ts';

const database = useDatabase();
const { sql } = database;
const source = useSource(database);
const items = { table: 'source.items', cursorColumn: 'updated_at', keyColumns: ['id'] };

beforeEach(async () => {
  await sql('TRUNCATE connections, sync_jobs, signals, processes, events CASCADE');
  await sql(`INSERT INTO providers (slug) VALUES ('postgres') ON CONFLICT DO NOTHING`);
  await source.table('items', 'id int PRIMARY KEY, updated_at timestamptz NOT NULL, title text');
  await sql('CREATE INDEX ON source.items (updated_at, id)');
});

/** The connector with a credential; `after` runs between reading and storing a page. */
function connector(after: (page: number) => unknown = () => {}): Connector {
  const own = source.connector();
  let pages = 0;
  return {
    ...own,
    sync: async (context: SyncContext) => {
      const { credentials } = memoryContext({ credential: source.credential() });
      const page = await own.sync({ ...context, credentials });
      await after(++pages);
      return page;
    },
  };
}

async function connect(config: Record<string, unknown>): Promise<string> {
  const [row] = await sql<{ id: string }>(
    `INSERT INTO connections (tenant_id, provider_slug, config) VALUES ($1, 'postgres', $2) RETURNING id`,
    [tenant, JSON.stringify(source.config(config))],
  );
  return (row as { id: string }).id;
}

async function syncNow(id: string, used = connector()): Promise<void> {
  await database.job(id, { provider_slug: 'postgres' });
  const engine = database.engine({ connectors: [used] });
  for (let round = 0; round < 10; round++) {
    await engine.drain();
    await sql(`UPDATE sync_jobs SET retry_after = NULL WHERE status = 'queued'`);
    if ((await sql(`SELECT FROM sync_jobs WHERE status IN ('queued', 'running')`)).length === 0) return;
  }
  expect.fail('jobs remain after 10 rounds');
}

const storedIds = async () =>
  (await sql<{ n: number }>(`SELECT (payload ->> 'id')::int AS n FROM signals ORDER BY 1`)).map(({ n }) => n);
const idsUpTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const insertRows = (from: number, to: number) =>
  sql(
    `INSERT INTO source.items SELECT n, '2025-01-01Z'::timestamptz + (n / 7) * interval '1 second' FROM generate_series($1::int, $2::int) n`,
    [from, to],
  );

it('postgres: a failure after any page causes neither loss nor duplicates', async () => {
  await insertRows(1, 40);
  for (const failingPage of idsUpTo(5)) {
    await sql('TRUNCATE connections, sync_jobs, signals CASCADE');
    const id = await connect({ ...items, pageSize: 10 });
    let failures = 0;
    const flaky = connector((page) => {
      if (page === failingPage && failures++ === 0) throw new TransientError('injected');
    });
    await syncNow(id, flaky);
    expect({ failingPage, failures, stored: await storedIds() }).toEqual({
      failingPage,
      failures: 1,
      stored: idsUpTo(40),
    });
  }
});

it('postgres: stores thousands of rows and later additions once each', async () => {
  const many = sized(10_000, 3000);
  await insertRows(1, many);
  const id = await connect(items);
  await syncNow(id);
  expect(await storedIds()).toEqual(idsUpTo(many));
  await insertRows(many + 1, many + 10);
  await syncNow(id);
  await syncNow(id);
  expect(await storedIds()).toEqual(idsUpTo(many + 10));
});

it('postgres: finds rows that concurrent writers commit out of order, each once', async () => {
  const id = await connect({ ...items, pageSize: 50, lookbackSeconds: 30 });
  // now() is the transaction's start time, so commits are out of order.
  const write = async (from: number) => {
    const session = await database.session();
    for (let n = from; n < from + 20; n++) {
      await session.query('BEGIN');
      await session.query('INSERT INTO source.items VALUES ($1, now())', [n]);
      await session.query('SELECT pg_sleep(random() * 0.02)');
      await session.query('COMMIT');
    }
  };
  const writers = Promise.all([0, 1, 2, 3, 4, 5].map((writer) => write(writer * 20 + 1)));
  let isWriting = true;
  void writers.finally(() => {
    isWriting = false;
  });
  while (isWriting) await syncNow(id);
  await writers;
  await syncNow(id);
  await syncNow(id);
  expect(await storedIds()).toEqual(idsUpTo(120));
});
