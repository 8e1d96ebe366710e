import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Page, PageRequest } from '../../src/caller/keyset.ts';
import { maxPageBytes } from '../../src/values/limits.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql } = database;
const mb = 1024 * 1024;

beforeEach(() => database.empty());

/** Mostly small, some of megabytes, a few larger than a page. */
const size = fc.oneof(
  { weight: 10, arbitrary: fc.nat(2000) },
  { weight: 9, arbitrary: fc.nat(3 * mb) },
  { weight: 1, arbitrary: fc.nat(10 * mb) },
);
const sizesOf = (count: number) => fc.sample(size, count);
/** Every other row is highly compressible. */
const text = `CASE WHEN n % 2 = 0 THEN repeat('x', size)
  ELSE (SELECT left(string_agg(md5(n::text || i::text), ''), size) FROM generate_series(0, size / 32) i) END`;

async function storeSignals(connection: string, sizes: number[]): Promise<void> {
  await sql(
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT $1, 'github', $2, 'opened', now(), jsonb_build_object('text', ${text})
     FROM unnest($3::int[]) WITH ORDINALITY AS s (size, n)`,
    [tenant, connection, sizes],
  );
}

/** Reads a list to its end; pages of more than one row must be within the limit. */
async function readAll<Item>(
  read: (request: PageRequest) => Promise<Page<Item>>,
  jsonOf: (item: Item) => unknown,
): Promise<{ items: Item[]; pages: number }> {
  const items: Item[] = [];
  let cursor: string | undefined;
  for (let pages = 1; ; pages++) {
    const page = await read({ cursor, limit: 15 });
    const bytes = page.items.map((item) => Buffer.byteLength(JSON.stringify(jsonOf(item)) ?? ''));
    if (page.items.length > 1) expect(bytes.reduce((a, b) => a + b)).toBeLessThanOrEqual(maxPageBytes);
    items.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === undefined) return { items, pages };
  }
}

describe('lists are bounded by bytes', () => {
  it('signals: pages of any size join without gaps or duplicates, in both orders', async () => {
    const connection = await database.connect();
    for (let batch = 0; batch < sized(3, 2); batch++) await storeSignals(connection, sizesOf(12));
    const syncline = database.engine();
    const expected = await sql<{ id: string }>('SELECT id FROM signals ORDER BY id DESC');
    const byId = await readAll(syncline.signals.list, ({ payload }) => payload);
    expect(byId.items.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    const received = await sql<{ id: string }>('SELECT id FROM signals ORDER BY received_at DESC, id DESC');
    const byConnection = await readAll(
      (request) => syncline.signals.list({ ...request, connectionId: connection }),
      ({ payload }) => payload,
    );
    expect(byConnection.items.map(({ id }) => id)).toEqual(received.map(({ id }) => id));
  });

  it('FEED-1: a page that ends within a batch continues within that batch', async () => {
    const connection = await database.connect();
    for (let batch = 0; batch < sized(4, 2); batch++) await storeSignals(connection, sizesOf(10));
    const syncline = database.engine();
    const expected = await sql<{ id: string }>(
      'SELECT s.id FROM signals s JOIN feed f USING (batch) ORDER BY f.position, s.tenant_id, s.id',
    );
    const seen: string[] = [];
    let after = 'beginning';
    for (const share of fc.sample(fc.nat(99), 100)) {
      const { items, nextCursor } = await syncline.signals.read({ after, limit: 20 });
      if (items.length === 0) break;
      const bytes = items.map(({ payload }) => Buffer.byteLength(JSON.stringify(payload)));
      if (items.length > 1) expect(bytes.reduce((a, b) => a + b)).toBeLessThanOrEqual(maxPageBytes);
      // The cursor of any signal continues like that of the page.
      const stop = Math.floor((items.length * share) / 100);
      seen.push(...items.slice(0, stop + 1).map(({ id }) => id));
      after = stop === items.length - 1 ? nextCursor : (items[stop]?.cursor ?? '');
    }
    expect(seen).toEqual(expected.map(({ id }) => id));
  });

  it('lists: pages of jobs, cursors, events and connections join without gaps or duplicates', async () => {
    const connection = await database.connect();
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, finished_at, cursor, next_cursor)
       SELECT $1, 'github', $2, 'full', 'succeeded', '2025-01-01T00:00:00Z'::timestamptz + n / 2 * interval '1 minute',
         to_jsonb(${text}), to_jsonb(${text})
       FROM unnest($3::int[]) WITH ORDINALITY AS s (size, n)`,
      [tenant, connection, sizesOf(sized(30, 12))],
    );
    await sql(
      `INSERT INTO events (id, tenant_id, connection_id, kind, actor, created_at, detail)
       SELECT gen_random_uuid(), $1, $2, 'connection.rewound', 'api', now(), jsonb_build_object('from', ${text})
       FROM unnest($3::int[]) WITH ORDINALITY AS s (size, n)`,
      [tenant, connection, sizesOf(sized(30, 12))],
    );
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, metadata)
       SELECT $1, 'github', jsonb_build_object('sync', jsonb_build_object('cursor', ${text}))
       FROM unnest($2::int[]) WITH ORDINALITY AS s (size, n)`,
      [tenant, sizesOf(sized(20, 8))],
    );
    const syncline = database.engine();
    const ids = async (query: string) => (await sql<{ id: string }>(query)).map(({ id }) => id);
    const history = 'ORDER BY coalesce(finished_at, updated_at) DESC, id DESC';
    const cursorsOf = ({ cursor, nextCursor }: { cursor: unknown; nextCursor: unknown }) => [
      cursor,
      nextCursor,
    ];

    const jobs = await readAll(syncline.jobs.list, cursorsOf);
    expect(jobs.items.map(({ id }) => id)).toEqual(await ids('SELECT id FROM sync_jobs ORDER BY id DESC'));
    const jobsOfConnection = await readAll(
      (request) => syncline.jobs.list({ ...request, connectionId: connection }),
      cursorsOf,
    );
    expect(jobsOfConnection.items.map(({ id }) => id)).toEqual(
      await ids(`SELECT id FROM sync_jobs ${history}`),
    );
    const cursors = await readAll(
      (request) => syncline.connections.cursors(connection, request),
      ({ cursor }) => cursor,
    );
    expect(cursors.items.map(({ jobId }) => jobId)).toEqual(await ids(`SELECT id FROM sync_jobs ${history}`));
    const events = await readAll(syncline.audit.list, ({ detail }) => detail);
    expect(events.items.map(({ id }) => id)).toEqual(await ids('SELECT id FROM events ORDER BY id DESC'));
    const connections = await readAll(syncline.connections.list, ({ sync }) => sync.cursor);
    expect(connections.items.map(({ id }) => id)).toEqual(
      await ids('SELECT id FROM connections ORDER BY id'),
    );
  });

  it('lists: a row larger than a page is returned alone', async () => {
    const connection = await database.connect();
    for (const sizes of [[10], [9 * mb], [10, 10]]) await storeSignals(connection, sizes);
    const syncline = database.engine();
    const pages: number[] = [];
    let after = 'beginning';
    for (;;) {
      const { items, nextCursor } = await syncline.signals.read({ after });
      if (items.length === 0) break;
      pages.push(items.length);
      after = nextCursor;
    }
    expect(pages).toEqual([1, 1, 2]);
  });

  it('lists: a page contains only whole rows within its byte limit', async () => {
    const connection = await database.connect();
    await storeSignals(
      connection,
      Array.from({ length: 20 }, () => mb),
    );
    const syncline = database.engine();
    const { items } = await syncline.signals.list({ limit: 100 });
    expect(items).toHaveLength(7);
    const { items: small } = await syncline.signals.read({ after: 'beginning', maxBytes: 2 * mb + 1000 });
    expect(small).toHaveLength(2);
    const { items: bare } = await syncline.signals.read({ after: 'beginning', payload: false });
    expect(bare).toHaveLength(20);
    expect(bare[0]).toMatchObject({ kind: 'opened', payload: undefined });
  });

  it('jobs: shows the newest attempts within the byte limit, with their numbers', async () => {
    const connection = await database.connect();
    const job = await database.job(connection, { status: 'queued' });
    await sql(
      `INSERT INTO attempts (job_id, claim_id, outcome, started_at, ended_at, error)
       SELECT $1, gen_random_uuid(), 'retried', at, at, jsonb_build_object('message', repeat('x', ${mb}))
       FROM (SELECT '2025-01-01T00:00:00Z'::timestamptz + n * interval '1 minute' AS at FROM generate_series(1, 12) n) a`,
      [job],
    );
    const { runs } = await database.engine().jobs.get(job);
    expect(runs.map(({ number }) => number)).toEqual([6, 7, 8, 9, 10, 11, 12]);
  });
});
