import { beforeAll, describe, expect, it } from 'vitest';
import type { ListedJobs } from '../../../src/api/jobs/index.ts';
import type { JobStatus } from '../../../src/contract/states.ts';
import type { Queryable } from '../../../src/store/database.ts';
import { listHistory } from '../../../src/store/job-history.ts';
import { jobWalk } from '../../../src/store/job-lists.ts';
import { tablesOf } from '../../../src/store/scope.ts';
import { tenant, useDatabase } from '../../support/database.ts';
import { filledLookup } from '../../support/filled-lookup.ts';
import { explain, nodes, pagesRead } from '../../support/plan.ts';
import { sized } from '../../support/size.ts';

const database = useDatabase();
const { sql } = database;
const large = '00000000-0000-4000-8000-000000000002';
const largeConnections = 5001;
const otherJobs = sized(60_000, 8000);
const statuses: JobStatus[] = ['queued', 'running', 'succeeded', 'failed', 'cancelled'];

const connections = (owner: string, count: number) =>
  sql(
    `INSERT INTO connections (id, tenant_id, provider_slug)
     SELECT md5($1::text || n)::uuid, $1::uuid, 'github' FROM generate_series(1, $2::int) n`,
    [owner, count],
  );

/** Ids are md5 hashes, so jobs of all tenants and statuses are interleaved in id order. */
beforeAll(async () => {
  await sql(`INSERT INTO tenants (id) VALUES ($1)`, [large]);
  await connections(tenant, 20);
  await connections(large, largeConnections);
  // Pending first: a connection has at most one job of a type, and one that runs.
  await sql(
    `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status)
     SELECT md5(c.id || t.type)::uuid, c.tenant_id, 'github', c.id, t.type,
       CASE WHEN t.type = 'full' AND hashtext(c.id::text) % 2 = 0 THEN 'running' ELSE 'queued' END
     FROM connections c CROSS JOIN unnest('{incremental,full,webhook}'::text[]) AS t (type)
     WHERE c.tenant_id = $1 OR t.type = 'full'`,
    [tenant],
  );
  const ended = (owner: string, count: number) =>
    sql(
      `INSERT INTO sync_jobs (id, tenant_id, provider_slug, connection_id, job_type, status, finished_at)
       SELECT md5(n || c.id::text)::uuid, $1, 'github', c.id, 'incremental',
         ('{succeeded,failed,cancelled,completed}'::text[])[1 + n % 4],
         now() - n * interval '1 s'
       FROM generate_series(1, $2::int) n
       CROSS JOIN LATERAL (
         SELECT id FROM connections WHERE tenant_id = $1 ORDER BY id LIMIT 1 OFFSET n % 20) c`,
      [owner, count],
    );
  await ended(tenant, 200);
  await ended(large, otherJobs);
  await sql('VACUUM ANALYZE');
});

const expectedIds = async (owner: string, status?: JobStatus) => {
  const rows = await sql<{ id: string }>(
    `SELECT id FROM sync_jobs WHERE tenant_id = $1
       AND ($2::text IS NULL OR replace(status, 'completed', 'succeeded') = $2) ORDER BY id DESC`,
    [owner, status],
  );
  return rows.map(({ id }) => id);
};

describe('lists: jobs of a tenant', () => {
  async function walk(
    list: (request: ListedJobs) => Promise<{ items: { id: string }[]; nextCursor?: string | undefined }>,
  ) {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({ cursor, limit: 17 });
      ids.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return ids;
  }

  it.each([undefined, ...statuses])(
    'lists: pages of a small tenant have no gaps or duplicates (status %s)',
    async (status) => {
      const engine = database.engine();
      const expected = await expectedIds(tenant, status);
      expect(expected.length).toBeGreaterThan(5);
      const own = engine.as({ tenantId: tenant, actor: 'test' });
      expect(await walk((request) => own.jobs.list({ ...request, status }))).toEqual(expected);
      expect(await walk((request) => engine.jobs.list({ ...request, status, tenantId: tenant }))).toEqual(
        expected,
      );
    },
  );

  const scope = (db: Pick<Queryable, 'schema' | 'query'>, owner: string): Queryable => {
    const tables = tablesOf(db.schema, owner);
    return { ...db, tables, lookup: filledLookup(tables) };
  };
  const asTenant = (owner: string) => scope({ schema: '"syncline"', query: database.sql }, owner);

  /** Like a page of the API, with a scan smaller than the list. */
  async function walkScans(owner: string, status: JobStatus | undefined, scan: number) {
    const ids: string[] = [];
    let before: string | undefined;
    for (;;) {
      const { list, last } = await jobWalk(asTenant(owner), { status }, owner);
      const rows = await list(before, { limit: 101, scan });
      ids.push(...rows.map(({ id }) => id));
      const end = rows.at(-1)?.has_more ? rows.at(-1)?.id : await last(before, scan);
      if (end === undefined) return ids;
      before = end;
    }
  }

  it.each([undefined, ...statuses])(
    'lists: scans of a large and a small tenant have no gaps or duplicates (status %s)',
    async (status) => {
      expect(await walkScans(tenant, status, 50)).toEqual(await expectedIds(tenant, status));
      expect(await walkScans(large, status, 5000)).toEqual(await expectedIds(large, status));
    },
  );

  it('lists: a tenant with more than 5,000 connections gets full pages until the last', async () => {
    const own = database.engine().as({ tenantId: large, actor: 'test' });
    const { items, nextCursor } = await own.jobs.list({ limit: 100 });
    const expected = await expectedIds(large);
    expect(items.map(({ id }) => id)).toEqual(expected.slice(0, 100));
    const next = await own.jobs.list({ limit: 100, cursor: nextCursor });
    expect(next.items.map(({ id }) => id)).toEqual(expected.slice(100, 200));
  });

  it('lists: a cursor of a large tenant contains no id of a job that it cannot see', async () => {
    const { list, last } = await jobWalk(asTenant(large), { type: 'webhook' }, large);
    expect(await list(undefined, { limit: 101, scan: 1000 })).toEqual([]);
    const end = await last(undefined, 1000);
    expect(end).toMatch(/-0000-000000000000$/);
  });

  it('DB-4: a page of a small tenant reads its own jobs only', async () => {
    const plan = await explain(database.url, async (db) => {
      const { list } = await jobWalk(scope(db, tenant), {}, tenant);
      await list(undefined, { limit: 21, scan: 10_000 });
    });
    const scans = nodes(plan).filter((node) => node['Relation Name'] === 'sync_jobs');
    expect(new Set(scans.map((scan) => scan['Index Name']))).toEqual(
      new Set(['idx_sync_jobs_connection_type_status', 'idx_sync_jobs_tenant_ended']),
    );
    expect(pagesRead(plan)).toBeLessThan(3000);
  });

  it('DB-4: a page of a large tenant reads a bounded number of jobs', async () => {
    const scan = 1000;
    const plan = await explain(database.url, async (db) => {
      let sent = 0;
      // The list follows the count of connections and the end of the scan, whose results it needs.
      const query: Queryable['query'] = (text, values) =>
        ++sent < 3 ? sql(text, values) : db.query(text, values);
      const { list } = await jobWalk(scope({ ...db, query }, large), { type: 'webhook' }, large);
      await list(undefined, { limit: 21, scan });
      expect(sent).toBe(3);
    });
    const [read] = nodes(plan).filter((node) => node['Relation Name'] === 'sync_jobs');
    expect(read?.['Index Name']).toBe('sync_jobs_pkey');
    // Jobs of other tenants count too.
    const rows = (read?.['Actual Rows'] ?? 0) + (read?.['Rows Removed by Filter'] ?? 0);
    expect(rows).toBeGreaterThan(0);
    expect(rows).toBeLessThanOrEqual(scan);
    expect(pagesRead(plan)).toBeLessThan(10 * scan);
  });

  it('DB-4: the history of a connection reads its own jobs only', async () => {
    const [{ id = '' } = {}] = await sql<{ id: string }>(
      'SELECT id FROM connections WHERE tenant_id = $1 ORDER BY id LIMIT 1',
      [tenant],
    );
    const plan = await explain(database.url, (db) =>
      listHistory(db, id, {}, { before: undefined, limit: 21 }),
    );
    expect(pagesRead(plan)).toBeLessThan(200);
    const page = await database.engine().jobs.list({ connectionId: id, limit: 100 });
    expect(page.items).toHaveLength(13);
    expect(page.items.filter(({ status }) => status === 'queued' || status === 'running')).toHaveLength(3);
  });
});
