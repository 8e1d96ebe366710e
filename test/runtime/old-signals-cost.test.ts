import { beforeEach, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';
import { untilSessionsEnd } from '../support/sessions.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;

let connection: string;
beforeEach(async () => {
  // Each case sets the statistics itself.
  await sql('ALTER TABLE signals SET (autovacuum_enabled = false)');
  await sql('ALTER TABLE feed SET (autovacuum_enabled = false)');
  await sql('TRUNCATE signals, feed');
  connection = await database.connect();
});

const sizes = sized(12_000, 8000);

/** Stores one old transaction with `sizes` signals, and `sizes` old transactions without signals. */
async function store(beforeCommit: () => Promise<unknown>): Promise<void> {
  const session = await database.session();
  await session.query('SET search_path = syncline; BEGIN');
  await session.query(
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT gen_random_uuid(), $1, 'github', $2, 'opened', now(), '{}' FROM generate_series(1, $3)`,
    [tenant, connection, sizes],
  );
  await beforeCommit();
  await session.query('COMMIT');
  await session.end();
  await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
  await sql(
    `INSERT INTO feed (batch, position, created_at)
     SELECT gen_random_uuid(), nextval('feed_position'), '2024-12-01T00:00:00Z' FROM generate_series(1, $1)`,
    [sizes],
  );
}

/** Index entries read of a table. Sessions flush counters when they end, so each call uses a new one. */
async function entriesRead(table: string): Promise<number> {
  await untilSessionsEnd(database);
  const client = await database.session();
  const { rows } = await client.query<{ n: number }>(
    'SELECT sum(idx_tup_read)::int AS n FROM pg_stat_user_indexes WHERE relname = $1',
    [table],
  );
  await client.end();
  return rows[0]?.n ?? Number.NaN;
}

const analyze = () => sql('ANALYZE signals, feed');
const vacuum = () => sql('VACUUM ANALYZE signals, feed');
const nothing = async () => {};

it.each([
  { statistics: 'no statistics' },
  { statistics: 'statistics of empty tables', before: analyze },
  { statistics: 'statistics of a vacuumed, empty table', before: vacuum },
  // ANALYZE finds pages without visible rows, so the planner estimates one entry per index.
  { statistics: 'statistics taken before the load committed', during: analyze },
  { statistics: 'statistics of one large transaction', after: analyze },
  { statistics: 'statistics of one large transaction, vacuumed', after: vacuum },
])(
  'janitor: batches do not rescan index entries of deleted signals that an old snapshot retains: $statistics',
  async ({ before = nothing, during = nothing, after = nothing }) => {
    await before();
    await store(during);
    await after();
    const old = await database.session();
    await old.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await old.query('SELECT');
    const [signalsBefore, feedBefore] = [await entriesRead('signals'), await entriesRead('feed')];
    await runJanitor(database, { retention: { signalsDays: 1 } });
    const signalsRead = (await entriesRead('signals')) - signalsBefore;
    const feedRead = (await entriesRead('feed')) - feedBefore;
    // Each signal is found, locked and deleted once. Rescanning from the start would read 12,000 more, at full size 30,000.
    expect(signalsRead).toBeGreaterThanOrEqual(3 * sizes);
    expect(signalsRead).toBeLessThan(3 * sizes + 3000);
    // Each entry is found and deleted once; each step of the large transaction also reads the first 2,000.
    expect(feedRead).toBeGreaterThanOrEqual(2 * sizes);
    expect(feedRead).toBeLessThan(3 * sizes + 6000);
    const check = await database.session();
    const { rows } = await check.query(
      'SELECT (SELECT count(*)::int FROM syncline.signals) AS signals, (SELECT count(*)::int FROM syncline.feed) AS feed',
    );
    await check.end();
    expect(rows).toEqual([{ signals: 0, feed: 0 }]);
  },
);
