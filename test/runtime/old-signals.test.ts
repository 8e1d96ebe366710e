import { beforeEach, describe, expect, it } from 'vitest';
import { type TestPorts, testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';

const database = useDatabase();
const { sql } = database;
const retention = { signalsDays: 1 };

let connection: string;
beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM feed');
  await sql('UPDATE feed_start SET position = (SELECT last_value FROM feed_position)');
  connection = await database.connect();
});

/** Stores signals in one transaction at `ago` before noon, with random ids; returns its position. */
async function store(signals: number, ago: string): Promise<number> {
  await sql(
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT gen_random_uuid(), $1, 'github', $2, 'opened', now(), '{}' FROM generate_series(1, $3)`,
    [tenant, connection, signals],
  );
  const [row] = await sql<{ position: number }>(
    `UPDATE feed SET created_at = '2025-01-01T12:00:00Z'::timestamptz - $1::interval
     WHERE position = (SELECT max(position) FROM feed) RETURNING position::int`,
    [ago],
  );
  return row?.position ?? Number.NaN;
}

const countOf = async (table: string) =>
  (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n;

async function startOfFeed(): Promise<number | undefined> {
  const [row] = await sql<{ position: number }>('SELECT position::int FROM feed_start');
  return row?.position;
}

async function runRound(ports: TestPorts): Promise<void> {
  const asleep = ports.asleep();
  ports.wake();
  await asleep;
}

/** Starts a janitor and waits for its first round. */
async function start(): Promise<{ ports: TestPorts; stop(): Promise<void> }> {
  const ports = testPorts();
  const engine = database.engine({ ports, retention });
  const asleep = ports.asleep();
  await engine.start({ roles: ['janitor'] });
  await asleep;
  return { ports, stop: () => engine.stop() };
}

describe('the janitor: transactions with many signals', () => {
  it('janitor: deletes a large transaction in batches and keeps signals within their retention', async () => {
    await store(4500, '2 days');
    const last = await store(1500, '25 hours');
    await store(3, '23 hours');
    expect(await runJanitor(database, { retention })).toEqual([50, 50, 50, 60_000]);
    expect([await countOf('signals'), await countOf('feed'), await startOfFeed()]).toEqual([3, 1, last]);
  });

  it('FEED-1: readers of a partly deleted transaction get EXPIRED', async () => {
    const { signals } = database.engine();
    const { nextCursor: before } = await signals.read({ after: 'latest' });
    await store(4500, '2 days');
    const { nextCursor: within } = await signals.read({ after: before, limit: 100 });
    await store(1, '1 hour');
    const janitor = await start();
    expect(await countOf('signals')).toBe(2501);
    for (const after of [before, within])
      await expect(signals.read({ after })).rejects.toMatchObject({ code: 'EXPIRED' });
    expect((await signals.read({ after: 'beginning' })).items).toHaveLength(1);
    await janitor.stop();
  });

  it('janitor: continues a transaction that another janitor partly deleted, and after its end', async () => {
    await store(2500, '2 days');
    const first = await start();
    expect(await countOf('signals')).toBe(500);
    await runJanitor(database, { retention });
    expect([await countOf('signals'), await countOf('feed')]).toEqual([0, 0]);
    await store(50, '2 days');
    await runRound(first.ports);
    expect([await countOf('signals'), await countOf('feed')]).toEqual([0, 0]);
    await first.stop();
  });

  it('janitor: concurrent janitors delete everything, also after a rolled-back DELETE', async () => {
    await store(4500, '2 days');
    const another = await database.session();
    await another.query('BEGIN');
    await another.query(`DELETE FROM syncline.signals
      WHERE id IN (SELECT id FROM syncline.signals ORDER BY batch, tenant_id, id LIMIT 2000)`);
    const janitors = await Promise.all([start(), start()]);
    const runRounds = () => Promise.all(janitors.map(({ ports }) => runRound(ports)));
    await runRounds();
    await runRounds();
    await another.query('ROLLBACK');
    expect([await countOf('signals'), await countOf('feed')]).toEqual([4500, 1]);
    for (let i = 0; i < 4; i++) await runRounds();
    expect([await countOf('signals'), await countOf('feed')]).toEqual([0, 0]);
    await Promise.all(janitors.map(({ stop }) => stop()));
  });

  it('janitor: skips a locked signal and deletes it in a later round', async () => {
    await store(2500, '2 days');
    const client = await database.session();
    await client.query('BEGIN');
    await client.query('SELECT FROM syncline.signals ORDER BY id LIMIT 1 FOR UPDATE');
    const janitor = await start();
    await runRound(janitor.ports);
    await runRound(janitor.ports);
    expect([await countOf('signals'), await countOf('feed')]).toEqual([1, 1]);
    await client.query('COMMIT');
    await runRound(janitor.ports);
    expect([await countOf('signals'), await countOf('feed')]).toEqual([0, 0]);
    await janitor.stop();
  });
});
