import { beforeEach, describe, expect, it } from 'vitest';
import type { ListedConnections } from '../../../src/api/connections/api.ts';
import { tenant, useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { sql, connect } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';

beforeEach(async () => {
  await database.empty();
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [otherTenant]);
  await sql(`INSERT INTO providers (slug, display_name) VALUES ('slack', 'Slack') ON CONFLICT DO NOTHING`);
});

async function createConnections(connections: Record<string, Record<string, unknown>>): Promise<void> {
  for (const [name, columns] of Object.entries(connections)) {
    const id = await connect();
    const values = { external_id: name, ...columns };
    const set = Object.keys(values).map((column, i) => `${column} = $${i + 2}`);
    await sql(`UPDATE connections SET ${set.join(', ')} WHERE id = $1`, [id, ...Object.values(values)]);
  }
}

const listNames = async (filter: ListedConnections, caller?: { tenantId: string; actor: string }) => {
  const engine = database.engine();
  const { items } = await (caller ? engine.as(caller) : engine).connections.list({ limit: 100, ...filter });
  return items.map(({ externalId }) => externalId).toSorted();
};

describe('connections.list', () => {
  it('list: filters by tenant, provider, status and health, alone and combined', async () => {
    const since = '2025-01-01T00:00:00Z';
    await createConnections({
      well: {},
      failing: { failing_since: since, failure: 'transient' },
      slack: { provider_slug: 'slack' },
      'slack, failing': { provider_slug: 'slack', failing_since: since },
      paused: { status: 'paused' },
      'paused, failed before': { status: 'paused', failing_since: since },
      refused: { status: 'needs_auth', failing_since: since },
      disabled: { status: 'disabled' },
      theirs: { tenant_id: otherTenant },
      'theirs, failing': { tenant_id: otherTenant, failing_since: since },
    });
    expect(await listNames({})).toHaveLength(10);
    expect(await listNames({ tenantId: otherTenant })).toEqual(['theirs', 'theirs, failing']);
    expect(await listNames({ provider: 'slack' })).toEqual(['slack', 'slack, failing']);
    expect(await listNames({ status: 'paused' })).toEqual(['paused', 'paused, failed before']);
    expect(await listNames({ status: 'active' })).toEqual(
      ['failing', 'slack', 'slack, failing', 'theirs', 'theirs, failing', 'well'].toSorted(),
    );
    expect(await listNames({ health: 'ok' })).toEqual(['slack', 'theirs', 'well']);
    expect(await listNames({ health: 'failing' })).toEqual(['failing', 'slack, failing', 'theirs, failing']);
    expect(await listNames({ health: 'paused' })).toEqual(['paused', 'paused, failed before']);
    expect(await listNames({ health: 'needs_auth' })).toEqual(['refused']);
    expect(await listNames({ health: 'disabled' })).toEqual(['disabled']);
    expect(await listNames({ tenantId: otherTenant, health: 'failing' })).toEqual(['theirs, failing']);
    expect(await listNames({ provider: 'slack', health: 'ok', status: 'active' })).toEqual(['slack']);
  });

  it.each([
    { status: 'paused', health: 'needs_auth' },
    { status: 'active', health: 'paused' },
    { status: 'paused', health: 'ok' },
    { status: 'needs_auth', health: 'failing' },
  ] as const)('list: a contradictory filter returns nothing: %j', async (filter) => {
    await createConnections({
      well: {},
      failing: { failing_since: '2025-01-01T00:00:00Z' },
      paused: { status: 'paused' },
      refused: { status: 'needs_auth', failing_since: '2025-01-01T00:00:00Z' },
    });
    expect(await listNames(filter)).toEqual([]);
  });

  it('list: search matches a prefix of the external id, without wildcards', async () => {
    await createConnections({
      'acme/app': {},
      'acme/api': {},
      '100%': {},
      '100x': {},
      a_b: {},
      axb: {},
      'c\\d': {},
      cd: {},
      '%': {},
    });
    expect(await listNames({ search: 'acme' })).toEqual(['acme/api', 'acme/app']);
    expect(await listNames({ search: 'acme/app' })).toEqual(['acme/app']);
    expect(await listNames({ search: 'app' })).toEqual([]);
    expect(await listNames({ search: '100%' })).toEqual(['100%']);
    expect(await listNames({ search: 'a_' })).toEqual(['a_b']);
    expect(await listNames({ search: '%' })).toEqual(['%']);
    expect(await listNames({ search: 'c\\' })).toEqual(['c\\d']);
    expect(await listNames({ search: 'c\\\\' })).toEqual([]);
    expect(await listNames({ search: "' OR true --" })).toEqual([]);
  });

  it('list: search finds an id in any case, within the other filters', async () => {
    await createConnections({ one: {}, other: {} });
    const [row] = await sql<{ id: string }>(`SELECT id FROM connections WHERE external_id = 'one'`);
    const id = (row as { id: string }).id;
    expect(await listNames({ search: id })).toEqual(['one']);
    expect(await listNames({ search: id.toUpperCase() })).toEqual(['one']);
    expect(await listNames({ search: id, status: 'paused' })).toEqual([]);
    expect(await listNames({ search: id, tenantId: otherTenant })).toEqual([]);
    expect(await listNames({ search: id.slice(0, 8) })).toEqual([]);
  });

  it('list: a tenant sees only its own connections, with any filter', async () => {
    await createConnections({ ours: {}, theirs: { tenant_id: otherTenant } });
    const caller = { tenantId: otherTenant, actor: 'key:theirs' };
    expect(await listNames({}, caller)).toEqual(['theirs']);
    expect(await listNames({ tenantId: tenant }, caller)).toEqual([]);
    expect(await listNames({ search: 'ours' }, caller)).toEqual([]);
  });

  it('list: includes the names of tenant and provider, and the health', async () => {
    await createConnections({
      acme: { provider_slug: 'slack', failing_since: '2025-01-01T00:00:00Z', failure: 'permanent' },
    });
    expect((await database.engine().connections.list()).items).toEqual([
      expect.objectContaining({
        externalId: 'acme',
        tenantName: 'a tenant',
        providerName: 'Slack',
        health: 'failing',
        failingSince: new Date('2025-01-01T00:00:00Z'),
        failure: 'permanent',
      }),
    ]);
  });

  it.each([
    [{ tenantId: 'x' }, /tenantId must be a UUID, got "x"/],
    [{ status: 'gone' as 'paused' }, /status must be one of active, paused.*, got "gone"/],
    [{ health: 'ill' as 'ok' }, /health must be one of ok, failing.*, got "ill"/],
    [{ search: ' ' }, /search must be text.*, got " "/],
    [{ search: 'a\0' }, /search must be .*, got "a\\u0000"/],
  ])('list: rejects %j', async (filter, message) => {
    await expect(listNames(filter)).rejects.toThrow(message);
  });
});

describe('recent runs in a list', () => {
  it('list: `recent` adds the last 20 ended runs, newest first', async () => {
    const [busy, idle] = [await connect(), await connect()];
    await sql(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, started_at, finished_at, signal_count)
       SELECT $1, 'github', $2, 'incremental', CASE n WHEN 25 THEN 'failed' WHEN 24 THEN 'completed' ELSE 'succeeded' END,
         '2025-01-01T00:00:00Z'::timestamptz + n * interval '1 minute',
         '2025-01-01T00:00:01.5Z'::timestamptz + n * interval '1 minute', n
       FROM generate_series(1, 25) n`,
      [tenant, busy],
    );
    await database.job(busy);
    const { connections } = database.engine();
    const { items } = await connections.list({ recent: true });
    const recent = items.find(({ id }) => id === busy)?.recent;
    expect(recent?.map(({ signals }) => signals)).toEqual(Array.from({ length: 20 }, (_, i) => 25 - i));
    expect(recent?.slice(0, 3).map(({ status }) => status)).toEqual(['failed', 'succeeded', 'succeeded']);
    expect(recent?.[0]).toEqual({
      jobId: expect.any(String),
      status: 'failed',
      endedAt: new Date('2025-01-01T00:25:01.500Z'),
      durationMs: 1500,
      signals: 25,
    });
    expect(items.find(({ id }) => id === idle)?.recent).toEqual([]);
    expect((await connections.list()).items.every((item) => item.recent === undefined)).toBe(true);
  });

  it('list: a job cancelled before its start has no duration', async () => {
    const id = await connect();
    await database.job(id, { status: 'cancelled', finished_at: '2025-01-01T00:00:00Z' });
    const { items } = await database.engine().connections.list({ recent: true });
    expect(items[0]?.recent).toEqual([
      expect.objectContaining({ status: 'cancelled', durationMs: undefined }),
    ]);
  });
});
