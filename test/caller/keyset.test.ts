import { beforeAll, describe, expect, it } from 'vitest';
import type { SynclineApi } from '../../src/api/index.ts';
import type { Page, PageRequest } from '../../src/caller/keyset.ts';
import { systemPorts } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;

const count = 23;
let connection: string;

/** All rows of a list have the same times, so that only the key orders them. */
beforeAll(async () => {
  const at = '2025-01-01T12:00:00.123456Z';
  const rows = (text: string, ...values: unknown[]) =>
    sql(`${text} FROM generate_series(1, ${count}) n`, values);
  await sql('DELETE FROM providers');
  await rows(`INSERT INTO tenants (name, created_at) SELECT 'tenant ' || n, '${at}'`);
  await sql('DELETE FROM tenants WHERE id IN (SELECT id FROM tenants WHERE id <> $1 LIMIT 1)', [tenant]);
  await rows(`INSERT INTO providers (slug, created_at) SELECT 'provider ' || n, '${at}'`);
  await rows(
    `INSERT INTO connections (tenant_id, provider_slug, created_at, updated_at) SELECT $1, 'provider 1', '${at}', '${at}'`,
    tenant,
  );
  const [row] = await sql<{ id: string }>('SELECT id FROM connections LIMIT 1');
  connection = (row as { id: string }).id;
  await rows(
    `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, created_at, updated_at, finished_at)
     SELECT $1, 'provider 1', $2, 'incremental', 'succeeded', '${at}', '${at}', '${at}'`,
    tenant,
    connection,
  );
  await rows(
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, received_at, created_at, payload)
     SELECT $1, 'provider 1', $2, 'k', '${at}', '${at}', '${at}', to_jsonb(n)`,
    tenant,
    connection,
  );
  await rows(
    `INSERT INTO events (id, tenant_id, kind, actor, created_at) SELECT gen_random_uuid(), $1, 'tenant.created', 'a', '${at}'`,
    tenant,
  );
  await rows(
    `INSERT INTO api_keys (id, tenant_id, name, prefix, hash, created_at, created_by)
     SELECT gen_random_uuid(), $1, 'key ' || n, 'syn_', sha256(n::text::bytea), '${at}', 'a'`,
    tenant,
  );
  await rows(
    `INSERT INTO consumers (tenant_id, name, after, created_at, moved_at)
     SELECT '00000000-0000-0000-0000-000000000000', 'Consumer ' || n, 'x', '${at}', '${at}'`,
  );
  await rows(
    `INSERT INTO budgets (key, tenant_id, provider_slug, name, most, stated, period_seconds, opened_at, resets_at, opens_at)
     SELECT 'github/Budget ' || n || '/x', $1, 'github', 'Budget ' || n, 1, 1, 60, '${at}', '${at}', '${at}'`,
    tenant,
  );
});

type List = (view: SynclineApi) => (request?: PageRequest) => Promise<Page<object>>;
const lists: Record<string, List> = {
  tenants: ({ tenants }) => tenants.list,
  providers: ({ providers }) => providers.list,
  connections: ({ connections }) => connections.list,
  jobs: ({ jobs }) => jobs.list,
  'jobs of a connection':
    ({ jobs }) =>
    (request) =>
      jobs.list({ ...request, connectionId: connection }),
  signals: ({ signals }) => signals.list,
  'signals of a connection':
    ({ signals }) =>
    (request) =>
      signals.list({ ...request, connectionId: connection }),
  events: ({ audit }) => audit.list,
  keys: ({ keys }) => keys.list,
  consumers: ({ consumers }) => consumers.list,
  budgets: ({ budgets }) => budgets.list,
};
const names = Object.keys(lists);
const listOf = (name: string, view: SynclineApi = database.engine()) => (lists[name] as List)(view);

const identity = (item: object) =>
  String(
    (item as { id?: string }).id ?? (item as { slug?: string }).slug ?? (item as { name?: string }).name,
  );

async function walk(list: ReturnType<List>, limit: number): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ cursor, limit });
    pages.push(page.items.map(identity));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return pages;
}

describe('pages', () => {
  it.each(names)('pages: pages of %s return every item once, for any page size', async (name) => {
    const list = listOf(name);
    const [whole, ...rest] = await walk(list, 100);
    expect(rest).toEqual([]);
    expect(new Set(whole).size).toBe(count);
    for (const limit of [1, 2, 7, count - 1, count]) {
      const pages = await walk(list, limit);
      expect(pages.flat()).toEqual(whole);
      expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true);
    }
  });

  it.each(names)("pages: pages of %s in a tenant's view return every item once", async (name) => {
    const view = database.engine().as({ tenantId: tenant, actor: 'key:theirs' });
    const [whole] = await walk(listOf(name, view), 100);
    expect((await walk(listOf(name, view), 4)).flat()).toEqual(whole);
  });

  it.each(names)('pages: pages of %s have 20 items by default, and 1 to 100', async (name) => {
    const list = listOf(name);
    expect((await list()).items).toHaveLength(20);
    for (const limit of [0, 101, -1, 1.5, Number.NaN, '5' as unknown as number])
      await expect(list({ limit })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/^limit must be a whole number from 1 to 100, got .*\.$/),
      });
  });

  it('pages: a cursor of one list is rejected by all others', async () => {
    const engine = database.engine();
    for (const name of names) {
      const { nextCursor } = await listOf(name, engine)({ limit: 1 });
      expect(nextCursor).toBeDefined();
      for (const other of names.filter((candidate) => candidate !== name))
        await expect(listOf(other, engine)({ cursor: nextCursor })).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('must be a cursor of this list'),
          hint: 'Pass next_cursor of an earlier page, unchanged.',
        });
    }
  });

  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  it.each([
    ['an empty string', ''],
    ['invalid base64', '§§§'],
    ['invalid JSON', Buffer.from('{').toString('base64url')],
    ['an object', encoded({ list: 'jobs' })],
    ['a null', encoded(null)],
    ['too few parts', encoded(['jobs'])],
    ['too many parts', encoded(['jobs', tenant, tenant])],
    ['an invalid id', encoded(['jobs', "' OR true --"])],
    ['a number', encoded(['jobs', 7])],
    ['an id in a list', encoded(['jobs', [tenant]])],
  ])('pages: a cursor with %s is rejected', async (_name, cursor) => {
    await expect(database.engine().jobs.list({ cursor })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each([
    '2025-13-01 00:00:00+00',
    '2025-02-29 00:00:00+00',
    '2025-01-00 00:00:00+00',
    '2025-01-01 24:30:00+00',
    '2025-01-01 00:60:00+00',
    '2025-01-01 00:00:00+99',
    '0000-01-01 00:00:00+00',
    '999999-01-01 00:00:00+00',
  ])('pages: a cursor with an invalid time is rejected: %s', async (at) => {
    const { jobs, signals } = database.engine();
    const refused = { code: 'INVALID_ARGUMENT' };
    const requestOf = (list: string) => ({ cursor: encoded([list, at, tenant]), connectionId: connection });
    await expect(jobs.list(requestOf('history'))).rejects.toMatchObject(refused);
    await expect(signals.list(requestOf('received'))).rejects.toMatchObject(refused);
  });

  it('pages: a cursor with any valid time continues from it', async () => {
    const { jobs } = database.engine();
    for (const [at, found] of [
      ['infinity', count],
      ['2026-02-28 23:59:59.999999+05:45', count],
      ['2024-02-29 00:00:00-12', 0],
      ['294275-12-31 00:00:00+00', count],
      ['-infinity', 0],
    ]) {
      const page = await jobs.list({
        cursor: encoded(['history', at, tenant]),
        connectionId: connection,
        limit: 100,
      });
      expect(page.items).toHaveLength(found as number);
    }
  });

  it('pages: the filter by tenant and a connection of another tenant returns nothing', async () => {
    const engine = database.engine();
    const filter = { connectionId: connection, tenantId: '00000000-0000-4000-8000-000000000002' };
    expect((await engine.jobs.list(filter)).items).toEqual([]);
    expect((await engine.signals.list(filter)).items).toEqual([]);
    expect((await engine.jobs.list({ ...filter, tenantId: tenant })).items).toHaveLength(20);
    expect((await engine.signals.list({ ...filter, tenantId: tenant })).items).toHaveLength(20);
  });

  it('pages: a cursor stays valid when its row is deleted', async () => {
    const engine = database.engine();
    const { items, nextCursor } = await engine.keys.list({ limit: 10 });
    await sql('DELETE FROM api_keys WHERE id = $1', [items.at(-1)?.id]);
    expect((await engine.keys.list({ cursor: nextCursor, limit: 100 })).items).toHaveLength(count - 10);
    await sql(
      `INSERT INTO api_keys (id, tenant_id, name, prefix, hash, created_at, created_by) VALUES ($1, $2, 'key', 'syn_', 'x', now(), 'a')`,
      [items.at(-1)?.id, tenant],
    );
  });

  it('pages: a page without a filter is one query, also the last one', async () => {
    const statements: string[] = [];
    const ports = { ...systemPorts };
    ports.query = (statement, send) => {
      statements.push(statement);
      return send();
    };
    const { connections, jobs, signals, audit } = database.engine({ ports });
    // The first list of a process also reads the schema version.
    await connections.list();
    for (const list of [connections.list, jobs.list, signals.list, audit.list]) {
      statements.length = 0;
      expect((await list({ limit: 100 })).nextCursor).toBeUndefined();
      expect(statements.filter((statement) => !/^(BEGIN|COMMIT)/.test(statement))).toHaveLength(1);
    }
  });
});
