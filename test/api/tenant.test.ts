import { beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { systemPorts } from '../../src/index.ts';
import { openDatabase } from '../../src/store/database.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql, connect, job } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';
const unknownId = '00000000-0000-4000-8000-00000000dead';

beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE api_keys, sessions, consumers, rollups, schedulers');
  await sql('DELETE FROM tenants WHERE id <> $1', [tenant]);
  await sql(`DELETE FROM providers WHERE slug <> 'github'`);
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another')`, [otherTenant]);
});

const ours = { tenantId: tenant, actor: 'key:ours' };
const theirs = { tenantId: otherTenant, actor: 'key:theirs' };

describe('a database scoped to a tenant', () => {
  const open = () =>
    openDatabase(loadConfig({ options: { database: database.url } }).config.database, {
      ports: systemPorts,
      onConnectionLost: () => {},
      onSkew: () => {},
    });

  it('isolation: a scoped database rejects another tenant and keeps its own scope', async () => {
    const db = open();
    const scoped = db.scopedTo(tenant);
    expect(() => scoped.scopedTo(otherTenant)).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN', message: 'This key is for another tenant.' }),
    );
    for (const same of [
      scoped.scopedTo(undefined),
      scoped.scopedTo(tenant),
      scoped.scopedTo(undefined).scopedTo(tenant),
    ])
      expect(same.tables).toEqual(scoped.tables);
    expect(() => scoped.scopedTo(undefined).scopedTo(otherTenant)).toThrow('another tenant');
    expect(db.scopedTo(undefined).tables).toEqual(db.tables);
    await db.close();
  });

  it('isolation: the scope must be a UUID', async () => {
    const db = open();
    expect(() => db.scopedTo("x' OR true --")).toThrow('tenantId must be a UUID, got "x\' OR true --".');
    expect(() => database.engine().as({ tenantId: '', actor: 'a' })).toThrow('must be a UUID');
    await db.close();
  });
});

describe("a tenant's view", () => {
  it('isolation: lists and ids of a tenant return nothing of another tenant', async () => {
    const mine = await connect();
    await sql('UPDATE connections SET tenant_id = $1', [otherTenant]);
    const id = await connect();
    await job(mine, { tenant_id: otherTenant });
    const jobId = await job(id);
    const engine = database.engine({ connectors: [connector(() => ({ signals: [signal(1)] }))] });
    await engine.drain();
    await engine.connections.pause(id);
    await engine.keys.create({ name: 'ours', tenantId: tenant });
    await engine.as(ours).consumers.move('reader', 'beginning');
    const [stored] = await sql<{ id: string }>('SELECT id FROM signals WHERE connection_id = $1', [id]);

    const view = engine.as(theirs);
    const { connections, jobs, signals, audit, keys, consumers, tenants } = view;
    expect((await tenants.list()).items.map((item) => item.id)).toEqual([otherTenant]);
    expect((await connections.list()).items.map((item) => item.id)).toEqual([mine]);
    for (const list of [jobs.list, signals.list])
      expect((await list()).items.map((item) => item.connectionId)).toEqual([mine]);
    for (const list of [
      () => jobs.list({ connectionId: id }),
      () => jobs.list({ tenantId: tenant }),
      () => signals.list({ connectionId: id }),
      () => signals.list({ tenantId: tenant }),
      () => signals.list({ jobId }),
      () => audit.list(),
      () => audit.list({ connectionId: id }),
      () => keys.list(),
      () => consumers.list(),
    ])
      expect((await list()).items).toEqual([]);
    for (const get of [
      () => tenants.get(tenant),
      () => connections.get(id),
      () => connections.explain(id),
      () => connections.preview(id),
      () => connections.cursors(id),
      () => connections.pause(id),
      () => connections.resume(id),
      () => connections.trigger(id),
      () => connections.cancel(id),
      () => connections.setInterval(id, 600),
      () => jobs.get(jobId),
      () => jobs.cancel(jobId),
      () => jobs.retry(jobId),
      () => signals.get(stored?.id as string),
      () => consumers.get('reader'),
      () => consumers.delete('reader'),
      () => connections.create({ tenantId: tenant, provider: 'github' }),
    ])
      await expect(get()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await connections.events(id)).toEqual([]);
    await expect(signals.read({ tenantId: tenant })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(signals.feed({ tenantId: tenant }).next()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect((await signals.read()).items.map((item) => item.connectionId)).toEqual([mine]);
    expect((await engine.connections.get(id)).status).toBe('paused');
  });

  it('isolation: a tenant cannot use operator functions', async () => {
    const view = database.engine().as(theirs);
    for (const refused of [
      () => view.system(),
      () => view.tenants.create({ name: 'more' }),
      () => view.providers.register({ slug: 'slack' }),
    ])
      await expect(refused()).rejects.toMatchObject({ code: 'FORBIDDEN', hint: 'Use an operator key.' });
    expect(await sql('SELECT FROM events')).toHaveLength(0);
    expect((await view.providers.list()).items.map(({ slug }) => slug)).toEqual(['github']);
  });

  it('isolation: consumers of different tenants may have the same name', async () => {
    const engine = database.engine();
    await engine.consumers.move('reader', 'latest');
    const { after } = await engine.as(theirs).consumers.move('reader', 'beginning');
    await job(await connect());
    expect((await engine.as(theirs).consumers.get('reader')).after).toBe(after);
    await engine.as(theirs).consumers.delete('reader');
    expect((await engine.consumers.get('reader')).tenantId).toBeUndefined();
  });
});

describe('tenants and providers', () => {
  it('tenants: creating tenants and registering providers is recorded', async () => {
    const engine = database.engine().as({ actor: 'anna' });
    const created = await engine.tenants.create({ name: 'Northwind' });
    expect(await engine.tenants.get(created.id)).toEqual(created);
    const registered = await engine.providers.register({
      slug: 'slack',
      displayName: 'Slack',
      authType: 'oauth2',
    });
    expect(registered).toMatchObject({ slug: 'slack', displayName: 'Slack', authType: 'oauth2' });
    expect((await engine.audit.list()).items).toEqual([
      expect.objectContaining({
        kind: 'provider.registered',
        actor: 'anna',
        tenantId: undefined,
        detail: { slug: 'slack' },
      }),
      expect.objectContaining({
        kind: 'tenant.created',
        actor: 'anna',
        tenantId: created.id,
        detail: { name: 'Northwind' },
      }),
    ]);
  });

  it('providers: registering again changes only the fields passed', async () => {
    const { providers } = database.engine();
    await providers.register({ slug: 'slack', displayName: 'Slack', authType: 'oauth2' });
    expect(await providers.register({ slug: 'slack', displayName: 'Slack, Inc.' })).toMatchObject({
      displayName: 'Slack, Inc.',
      authType: 'oauth2',
    });
    expect((await providers.list()).items.map(({ slug }) => slug)).toEqual(['github', 'slack']);
  });

  it('tenants: search matches a prefix case-insensitively, without wildcards', async () => {
    const { tenants } = database.engine();
    for (const name of ['Northwind', 'northern', '100% Ltd', '100 Ltd', 'a_b', 'axb'])
      await tenants.create({ name });
    const found = async (search: string) =>
      (await tenants.list({ search })).items.map(({ name }) => name).toSorted();
    expect(await found('NORTH')).toEqual(['Northwind', 'northern']);
    expect(await found('100%')).toEqual(['100% Ltd']);
    expect(await found('A_')).toEqual(['a_b']);
    expect(await found('wind')).toEqual([]);
  });

  it('tenants: search finds a non-ASCII name in any database locale', async () => {
    const { tenants } = database.engine();
    await tenants.create({ name: 'Ölwerk' });
    expect((await tenants.list({ search: 'Ölwerk' })).items.map(({ name }) => name)).toEqual(['Ölwerk']);
  });

  it('tenants: rejects invalid tenants and providers', async () => {
    const { tenants, providers } = database.engine();
    await expect(tenants.create({ name: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(tenants.get(unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(tenants.get('x')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(tenants.list({ search: '' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(providers.register({ slug: 'a\0' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(providers.register({ slug: 'a', displayName: '' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('the audit', () => {
  it('audit: lists changes newest first, filtered by tenant, connection and kind', async () => {
    const engine = database.engine();
    const [id, other] = [await connect(), await connect()];
    await sql('UPDATE connections SET tenant_id = $2 WHERE id = $1', [other, otherTenant]);
    await engine.connections.pause(id, { actor: 'anna', reason: 'holidays' });
    await engine.connections.pause(other);
    const { jobId } = await engine.connections.resume(id).then(() => engine.connections.trigger(id));
    const kinds = async (filter: Parameters<typeof engine.audit.list>[0]) =>
      (await engine.audit.list(filter)).items.map(({ kind, connectionId }) => [kind, connectionId]);
    const all = [
      ['connection.triggered', id],
      ['connection.resumed', id],
      ['connection.paused', other],
      ['connection.paused', id],
    ];
    expect(await kinds({})).toEqual(all);
    expect(await kinds({ tenantId: otherTenant })).toEqual([all[2]]);
    expect(await kinds({ connectionId: id })).toEqual([all[0], all[1], all[3]]);
    expect(await kinds({ kind: 'connection.paused' })).toEqual([all[2], all[3]]);
    expect(await kinds({ kind: 'connection.paused', tenantId: otherTenant, connectionId: id })).toEqual([]);
    expect((await engine.audit.list({ connectionId: id, limit: 1 })).items).toEqual([
      {
        id: expect.any(String),
        at: expect.any(Date),
        kind: 'connection.triggered',
        actor: 'api',
        reason: undefined,
        tenantId: tenant,
        connectionId: id,
        jobId,
        detail: undefined,
      },
    ]);
    for (const filter of [{ tenantId: 'x' }, { connectionId: 'x' }, { kind: '' }])
      await expect(engine.audit.list(filter)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('the system', () => {
  it('system: shows the configuration without the database password', async () => {
    const url = new URL(database.url);
    url.password ||= 's3cret-password';
    const engine = database.engine({ database: url.href, retention: { statsDays: 30 } });
    const seen = await engine.system();
    const settings = new Map(seen.config.map(({ path, value }) => [path, value]));
    expect(settings.get('retention.statsDays')).toMatch(/^30/);
    expect(settings.get('database.url')).toContain(url.hostname);
    expect(JSON.stringify(seen)).not.toContain(url.password);
    expect(seen.config.every(({ about }) => about.length > 0)).toBe(true);
    expect(seen).toMatchObject({ node: process.version, schema: 'syncline', retention: { statsDays: 30 } });
  });

  it('system: shows processes, their running jobs and table sizes', async () => {
    const at = '2025-01-01T12:00:00Z';
    const [alive, dead, scheduler] = [tenant, otherTenant, unknownId];
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES ($1, 'one', 11, 5, '{github}', $3, now() + interval '1 hour'), ($2, 'two', 12, 7, '{}', $3::timestamptz + interval '1 second', now() - interval '1 hour')`,
      [alive, dead, at],
    );
    await sql(`INSERT INTO schedulers VALUES ($1, 'three', 13, $2, now(), 5, 0)`, [scheduler, at]);
    await job(await connect(), { status: 'running', process_id: alive });
    const engine = database.engine();
    const { processes, queue, tables, databaseBytes, schemaVersion } = await engine.system();
    expect(processes).toEqual([
      expect.objectContaining({
        host: 'one',
        pid: 11,
        roles: ['executor'],
        concurrency: 5,
        alive: true,
        running: 1,
      }),
      expect.objectContaining({ host: 'two', roles: ['executor'], providers: [], alive: false, running: 0 }),
      expect.objectContaining({
        host: 'three',
        roles: ['scheduler'],
        alive: true,
        tickedAt: expect.any(Date),
      }),
    ]);
    expect(queue.running).toEqual({ count: 1, atLeast: false });
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['connections', 'sync_jobs', 'attempts']),
    );
    expect(tables.map(({ bytes }) => bytes)).toEqual(
      tables.map(({ bytes }) => bytes).toSorted((a, b) => b - a),
    );
    expect(databaseBytes).toBeGreaterThan(1_000_000);
    expect(schemaVersion).toBe((await engine.status()).schemaVersion);
  });

  it('system: a scheduler that has not ticked for three intervals is not alive', async () => {
    await sql(
      `INSERT INTO schedulers VALUES ($1, 'quiet', 13, now(), now() - interval '181 seconds', 5, 0), ($2, 'busy', 14, now(), now() - interval '100 seconds', 5, 0)`,
      [tenant, otherTenant],
    );
    const { processes } = await database.engine().system();
    expect(Object.fromEntries(processes.map(({ host, alive }) => [host, alive]))).toEqual({
      quiet: false,
      busy: true,
    });
  });
});
