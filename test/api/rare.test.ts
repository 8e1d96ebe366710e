import { beforeAll, describe, expect, it } from 'vitest';
import { maxScanned, type Page, type PageRequest } from '../../src/caller/keyset.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql, connect } = database;
let connection: string;

/** 2.5 times the rows that one page scans; the matching row is the last. */
const rows = 2.5 * maxScanned;
const id = (n: string) => `('00000000-0000-4000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;

beforeAll(async () => {
  await sql(`INSERT INTO providers (slug) VALUES ('rare')`);
  connection = await connect();
  const insert = (text: string) => sql(`${text} FROM generate_series(1, ${rows}) n`, [tenant, connection]);
  await insert(
    `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status, finished_at)
     SELECT ${id('n')}, $1, CASE n WHEN 1 THEN 'rare' ELSE 'github' END, $2, 'full', 'succeeded', now()`,
  );
  await insert(
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, payload)
     SELECT ${id('n')}, $1, 'github', $2, CASE n WHEN 1 THEN 'rare' ELSE 'common' END, now(), '2025-01-01T00:00:00Z', 'null'`,
  );
  await insert(
    `INSERT INTO events (id, tenant_id, connection_id, kind, actor, created_at)
     SELECT ${id('n')}, $1, $2, CASE n WHEN 1 THEN 'connection.paused' ELSE 'connection.resumed' END, 'a', now()`,
  );
  await sql(
    `INSERT INTO connections (id, tenant_id, provider_slug, external_id)
     SELECT ${id('n')}, $1, CASE n WHEN ${rows} THEN 'rare' ELSE 'github' END, 'account ' || n FROM generate_series(1, ${rows}) n`,
    [tenant],
  );
  await sql('ANALYZE');
});

const searches: Record<string, (request: PageRequest) => Promise<Page<{ id: string }>>> = {
  jobs: (request) => database.engine().jobs.list({ ...request, provider: 'rare' }),
  signals: (request) => database.engine().signals.list({ ...request, kind: 'rare' }),
  'signals of a connection': (request) =>
    database.engine().signals.list({ ...request, kind: 'rare', connectionId: connection }),
  events: (request) => database.engine().audit.list({ ...request, kind: 'connection.paused' }),
  connections: (request) => database.engine().connections.list({ ...request, provider: 'rare' }),
};

describe('lists: a page scans a bounded number of rows', () => {
  it.each(Object.keys(searches))(
    'lists: a rare match in %s follows empty pages with a next cursor',
    async (name) => {
      const search = searches[name] as (typeof searches)[string];
      const found: number[] = [];
      let cursor: string | undefined;
      do {
        const page = await search({ cursor });
        found.push(page.items.length);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect(found).toEqual([0, 0, 1]);
    },
  );

  it('lists: a filter with an index finds a rare match on the first page', async () => {
    await sql(`UPDATE sync_jobs SET status = 'failed' WHERE id = ${id('1')}`);
    await sql(`UPDATE connections SET status = 'paused' WHERE id = ${id(String(rows))}`);
    await sql(`UPDATE connections SET failing_since = now() WHERE id = ${id(String(rows - 1))}`);
    const { jobs, connections } = database.engine();
    for (const page of [
      await jobs.list({ status: 'failed' }),
      await connections.list({ status: 'paused' }),
      await connections.list({ health: 'failing' }),
      await connections.list({ search: `account ${rows}` }),
    ])
      expect([page.items.length, page.nextCursor]).toEqual([1, undefined]);
  });
});
