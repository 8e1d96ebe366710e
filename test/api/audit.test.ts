import { beforeEach, describe, expect, it } from 'vitest';
import { type Syncline, systemPorts } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, connect } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';
beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE api_keys, sessions');
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [otherTenant]);
});

async function withKey(engine: Syncline, key: string) {
  const identity = await engine.access.authenticate(key);
  if (!identity) throw new Error('the key was refused');
  return { identity, view: engine.as(identity) };
}

const isValid = async (engine: Syncline, { key }: { key: string }) =>
  (await engine.access.authenticate(key)) !== undefined;

describe('audit: the key that acted', () => {
  it('audit: an event holds the id of the key, also when the key acts through a session', async () => {
    const engine = database.engine();
    const created = await engine.keys.create({ name: 'ours', tenantId: tenant });
    const { identity, view } = await withKey(engine, created.key);
    const id = await connect();
    await view.connections.pause(id, { reason: 'by key' });
    const { token } = await engine.access.openSession(identity);
    const session = await engine.access.session(token);
    if (!session) throw new Error('the session was refused');
    await engine.as(session).connections.resume(id, { reason: 'by session' });
    await engine.connections.pause(id, { reason: 'by library' });
    const { items } = await engine.audit.list({ connectionId: id });
    expect(items.map(({ reason, keyId }) => [reason, keyId])).toEqual([
      ['by library', undefined],
      ['by session', created.id],
      ['by key', created.id],
    ]);
    expect((await engine.connections.events(id)).map(({ keyId }) => keyId)).toEqual([
      undefined,
      created.id,
      created.id,
    ]);
  });

  it('audit: events can be filtered by key, within the scope of the caller', async () => {
    const engine = database.engine();
    const created = await engine.keys.create({ name: 'ours', tenantId: tenant });
    const { view } = await withKey(engine, created.key);
    const id = await connect();
    await view.connections.pause(id);
    await engine.connections.resume(id);
    const kinds = async (by: Syncline | typeof view) =>
      (await by.audit.list({ keyId: created.id })).items.map(({ kind }) => kind);
    expect(await kinds(engine)).toEqual(['connection.paused']);
    expect(await kinds(view)).toEqual(['connection.paused']);
    expect(await kinds(engine.as({ tenantId: otherTenant, actor: 'stranger' }))).toEqual([]);
    await expect(engine.audit.list({ keyId: 'x' })).rejects.toThrow('keyId must be a UUID, got "x".');
  });

  it('audit: logins and logouts are recorded with the key, the tenant and the address', async () => {
    const engine = database.engine();
    const created = await engine.keys.create({ name: 'ours', tenantId: tenant });
    const { identity } = await withKey(engine, created.key);
    const { token } = await engine.access.openSession(identity, { address: '192.0.2.7' });
    await engine.access.closeSession(token);
    await engine.access.closeSession(token);
    const local = { tenantId: undefined, actor: 'local', keyId: undefined, keyName: 'one-time token' };
    await engine.access.openSession(local);
    const { items } = await engine.audit.list();
    expect(items.slice(0, 3)).toEqual([
      expect.objectContaining({
        kind: 'session.opened',
        actor: 'local',
        keyId: undefined,
        tenantId: undefined,
        detail: { by: 'one-time token', address: null },
      }),
      expect.objectContaining({
        kind: 'session.closed',
        actor: 'key:ours',
        keyId: created.id,
        tenantId: tenant,
      }),
      expect.objectContaining({
        kind: 'session.opened',
        actor: 'key:ours',
        keyId: created.id,
        tenantId: tenant,
        detail: { by: 'key', address: '192.0.2.7' },
      }),
    ]);
    expect(items[3]?.kind).toBe('key.created');
  });
});

describe('keys: names', () => {
  it('keys: a name is unique among the valid keys of the operator, and of each tenant', async () => {
    const { keys } = database.engine();
    const first = await keys.create({ name: 'deploy' });
    await expect(keys.create({ name: 'deploy' })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'The operator already has a key named "deploy".',
      hint: 'Choose another name, or revoke that key first.',
    });
    await keys.create({ name: 'deploy', tenantId: tenant });
    await keys.create({ name: 'deploy', tenantId: otherTenant });
    await expect(keys.create({ name: 'deploy', tenantId: tenant })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'This tenant already has a key named "deploy".',
    });
    await keys.revoke(first.id);
    await keys.create({ name: 'deploy' });
    expect(await sql('SELECT FROM api_keys')).toHaveLength(4);
    expect(await sql(`SELECT FROM events WHERE kind = 'key.created'`)).toHaveLength(4);
  });

  it('keys: of concurrent requests for the same name, one succeeds', async () => {
    const { keys } = database.engine();
    const created = await Promise.allSettled([1, 2, 3, 4].map(() => keys.create({ name: 'deploy' })));
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of created)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'CONFLICT' });
  });
});

describe('keys: descendants', () => {
  /** root → child → grandchild, and a tenant key created with the child. */
  async function family(engine: Syncline) {
    const root = await engine.keys.create({ name: 'root' });
    const child = await (await withKey(engine, root.key)).view.keys.create({ name: 'child' });
    const asChild = (await withKey(engine, child.key)).view;
    const grandchild = await asChild.keys.create({ name: 'grandchild' });
    const tenants = await asChild.keys.create({ name: 'theirs', tenantId: tenant });
    const other = await engine.keys.create({ name: 'other' });
    return { root, child, grandchild, tenants, other };
  }

  it('keys: a key has the id of its parent and the number of its descendants', async () => {
    const engine = database.engine();
    const { root, child, grandchild, tenants, other } = await family(engine);
    expect([root, child, grandchild, tenants, other].map(({ parentId }) => parentId)).toEqual([
      undefined,
      root.id,
      child.id,
      child.id,
      undefined,
    ]);
    const descendants = async ({ id }: { id: string }) => (await engine.keys.get(id)).descendants;
    expect([await descendants(root), await descendants(child), await descendants(tenants)]).toEqual([
      3, 2, 0,
    ]);
  });

  it('keys: revoking with descendants revokes all of them and their sessions', async () => {
    const engine = database.engine();
    const { root, child, grandchild, tenants, other } = await family(engine);
    const sessions = await Promise.all(
      [grandchild, tenants, other].map(async ({ key }) => {
        const { identity } = await withKey(engine, key);
        return (await engine.access.openSession(identity)).token;
      }),
    );
    const done = await engine.as({ actor: 'anna' }).keys.revoke(root.id, { descendants: true });
    expect(done).toEqual({ revoked: 4, descendants: 0 });
    for (const key of [root, child, grandchild, tenants]) expect(await isValid(engine, key)).toBe(false);
    expect(await isValid(engine, other)).toBe(true);
    const open = await Promise.all(sessions.map((token) => engine.access.session(token)));
    expect(open.map((session) => session?.keyId)).toEqual([undefined, undefined, other.id]);
    const { items } = await engine.audit.list({ kind: 'key.revoked' });
    expect(items.map(({ actor, detail }) => [actor, detail])).toEqual(
      expect.arrayContaining([
        ['anna', { key: root.id, name: 'root', prefix: root.prefix }],
        ['anna', { key: tenants.id, name: 'theirs', prefix: tenants.prefix, with: root.id }],
      ]),
    );
    expect(items).toHaveLength(4);
  });

  it('keys: revoking without descendants leaves them valid; they can be revoked later', async () => {
    const engine = database.engine();
    const { root, child, grandchild } = await family(engine);
    expect(await engine.keys.revoke(root.id)).toEqual({ revoked: 1, descendants: 3 });
    expect(await engine.keys.revoke(child.id)).toEqual({ revoked: 1, descendants: 2 });
    expect(await isValid(engine, grandchild)).toBe(true);
    expect(await engine.keys.revoke(root.id, { descendants: true })).toEqual({ revoked: 2, descendants: 0 });
    expect(await isValid(engine, grandchild)).toBe(false);
  });

  it('keys: a key created while its parent is revoked is revoked too', async () => {
    const engine = database.engine();
    const root = await engine.keys.create({ name: 'root' });
    let insert = () => {};
    let reached = () => {};
    const atInsert = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const released = new Promise<void>((resolve) => {
      insert = resolve;
    });
    const query = async <T>(statement: string, send: () => Promise<T>) => {
      if (statement.includes('INSERT INTO "syncline".api_keys')) {
        reached();
        await released;
      }
      return send();
    };
    const slow = database.engine({ ports: { ...systemPorts, query } });
    const creating = (await withKey(slow, root.key)).view.keys.create({ name: 'child' });
    await atInsert;
    const revoking = engine.keys.revoke(root.id, { descendants: true });
    await until('the revocation waits for the row of the parent', async () => {
      const waiting = await sql(`SELECT FROM pg_locks WHERE NOT granted`);
      return waiting.length > 0;
    });
    insert();
    const child = await creating;
    expect(await revoking).toEqual({ revoked: 2, descendants: 0 });
    expect(await isValid(engine, child)).toBe(false);
  });

  it('keys: a revoked key cannot create keys, also while a process still accepts it', async () => {
    const engine = database.engine();
    const root = await engine.keys.create({ name: 'root' });
    const { view } = await withKey(engine, root.key);
    await engine.keys.revoke(root.id, { descendants: true });
    await expect(view.keys.create({ name: 'late' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await sql('SELECT FROM api_keys')).toHaveLength(1);
  });

  it("keys: a tenant revokes its own descendants and cannot see or revoke the operator's", async () => {
    const engine = database.engine();
    const { child, tenants } = await family(engine);
    const { view } = await withKey(engine, tenants.key);
    const below = await view.keys.create({ name: 'below' });
    for (const attempt of [view.keys.get(child.id), view.keys.revoke(child.id, { descendants: true })])
      await expect(attempt).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await view.keys.get(tenants.id)).descendants).toBe(1);
    expect(await view.keys.revoke(tenants.id, { descendants: true })).toEqual({ revoked: 2, descendants: 0 });
    expect(await isValid(engine, below)).toBe(false);
    expect(await isValid(engine, child)).toBe(true);
  });
});
