import { beforeEach, describe, expect, it } from 'vitest';
import { type Syncline, systemPorts } from '../../src/index.ts';
import { testPorts } from '../support/clock.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';
const unknownId = '00000000-0000-4000-8000-00000000dead';
const noon = new Date('2025-01-01T12:00:00Z');
const hourMs = 3600_000;

beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE api_keys, sessions');
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another') ON CONFLICT DO NOTHING`, [otherTenant]);
});

function engineAtNoon() {
  const ports = { ...testPorts(), newId: systemPorts.newId };
  return { ports, engine: database.engine({ ports }) };
}

/** Logs in with a key, as the dashboard does. */
async function logIn(engine: Syncline, key: string): Promise<string> {
  const identity = await engine.access.authenticate(key);
  if (!identity) throw new Error('the key is not valid');
  return (await engine.access.openSession(identity)).token;
}

async function dump(): Promise<string> {
  const tables = await sql<{ name: string }>(
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'syncline'`,
  );
  const texts = await Promise.all(
    tables.map(({ name }) => sql<{ text: string }>(`SELECT t::text AS text FROM ${name} t`)),
  );
  return texts
    .flat()
    .map(({ text }) => text)
    .join('\n');
}

describe('keys', () => {
  it('keys: authenticate() returns the identity of an operator key and of a tenant key', async () => {
    const { engine } = engineAtNoon();
    const [operators, tenants] = [
      await engine.keys.create({ name: 'on call' }),
      await engine.keys.create({ name: 'their backend', tenantId: tenant }),
    ];
    expect(operators).toEqual({
      id: expect.any(String),
      key: expect.stringMatching(/^syn_[\w-]{43}$/),
      name: 'on call',
      prefix: operators.key.slice(0, 10),
      tenantId: undefined,
      createdAt: noon,
      createdBy: 'api',
      lastUsedAt: undefined,
      revokedAt: undefined,
    });
    expect(await engine.access.authenticate(operators.key)).toEqual({
      tenantId: undefined,
      actor: 'key:on call',
      keyId: operators.id,
      keyName: 'on call',
    });
    expect(await engine.access.authenticate(tenants.key)).toMatchObject({
      tenantId: tenant,
      actor: 'key:their backend',
    });
    expect(operators.key).not.toBe(tenants.key);
  });

  it('keys: keys and session tokens are stored only as hashes', async () => {
    const { engine } = engineAtNoon();
    const { key, prefix } = await engine.keys.create({ name: 'secret', tenantId: tenant });
    const token = await logIn(engine, key);
    const text = await dump();
    expect(text).toContain(prefix);
    for (const secret of [key, key.slice('syn_'.length), token]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(secret.slice(10));
      expect(text).not.toContain(Buffer.from(secret).toString('hex'));
      expect(text).not.toContain(Buffer.from(secret, 'base64url').toString('hex'));
    }
  });

  it('keys: an unknown or malformed key does not authenticate', async () => {
    const { engine } = engineAtNoon();
    const { key, prefix } = await engine.keys.create({ name: 'one' });
    for (const wrong of [
      '',
      'syn_',
      prefix,
      `${key}x`,
      key.slice(0, -1),
      key.slice('syn_'.length),
      key.toUpperCase(),
      ` ${key}`,
      `syn_${'x'.repeat(10_000)}`,
      'syn_\0',
      'syn_\ud800',
    ])
      expect(await engine.access.authenticate(wrong)).toBeUndefined();
  });

  it('keys: lastUsedAt is written at most every five minutes', async () => {
    const { engine, ports } = engineAtNoon();
    const { key } = await engine.keys.create({ name: 'one' });
    const lastUsed = async () => (await engine.keys.list()).items[0]?.lastUsedAt;
    expect(await lastUsed()).toBeUndefined();
    await engine.access.authenticate(key);
    expect(await lastUsed()).toEqual(noon);
    ports.advance(299_000);
    await engine.access.authenticate(key);
    expect(await lastUsed()).toEqual(noon);
    ports.advance(2000);
    await engine.access.authenticate(key);
    expect(await lastUsed()).toEqual(new Date(noon.getTime() + 301_000));
  });

  it('keys: revoking a key invalidates it and its sessions', async () => {
    const { engine } = engineAtNoon();
    const [revoked, other] = [
      await engine.keys.create({ name: 'old' }),
      await engine.keys.create({ name: 'new' }),
    ];
    const identity = await engine.access.authenticate(revoked.key);
    const [token, otherToken] = [await logIn(engine, revoked.key), await logIn(engine, other.key)];
    await engine.as({ actor: 'anna' }).keys.revoke(revoked.id);
    expect(await engine.access.authenticate(revoked.key)).toBeUndefined();
    expect(await engine.access.session(token)).toBeUndefined();
    expect(await sql('SELECT FROM sessions WHERE key_id = $1', [revoked.id])).toHaveLength(0);
    // A caller authenticated just before the key was revoked.
    if (!identity) throw new Error('the key is not valid');
    const late = await engine.access.openSession(identity);
    expect(await engine.access.session(late.token)).toBeUndefined();
    expect(await engine.access.authenticate(other.key)).toMatchObject({ keyId: other.id });
    expect(await engine.access.session(otherToken)).toMatchObject({ keyId: other.id });
  });

  it('keys: a revoked key stays in the list; revoking it again changes nothing', async () => {
    const { engine, ports } = engineAtNoon();
    const { id } = await engine.keys.create({ name: 'old' });
    await engine.keys.revoke(id);
    ports.advance(hourMs);
    await engine.keys.revoke(id);
    expect((await engine.keys.list()).items).toEqual([expect.objectContaining({ id, revokedAt: noon })]);
    const { items } = await engine.audit.list();
    expect(items.map(({ kind }) => kind)).toEqual(['key.revoked', 'key.created']);
  });

  it('audit: creating and revoking a key is recorded with its name and prefix', async () => {
    const { engine } = engineAtNoon();
    const view = engine.as({ actor: 'anna' });
    const { id, prefix } = await view.keys.create({ name: 'their backend', tenantId: tenant });
    await view.keys.revoke(id);
    const detail = { key: id, name: 'their backend', prefix };
    expect((await engine.audit.list()).items).toEqual([
      expect.objectContaining({ kind: 'key.revoked', actor: 'anna', tenantId: tenant, detail }),
      expect.objectContaining({ kind: 'key.created', actor: 'anna', tenantId: tenant, detail }),
    ]);
    expect((await engine.keys.list()).items[0]?.createdBy).toBe('anna');
  });

  it('keys: deleting a tenant invalidates its keys and sessions', async () => {
    const { engine } = engineAtNoon();
    const created = await engine.tenants.create({ name: 'short-lived' });
    const { key } = await engine.keys.create({ name: 'theirs', tenantId: created.id });
    const token = await logIn(engine, key);
    await sql('DELETE FROM tenants WHERE id = $1', [created.id]);
    expect(await engine.access.authenticate(key)).toBeUndefined();
    expect(await engine.access.session(token)).toBeUndefined();
  });

  it('keys: rejects an invalid name and an unknown tenant', async () => {
    const { keys } = engineAtNoon().engine;
    await expect(keys.create({ name: ' ' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(keys.create({ name: 'x'.repeat(101) })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(keys.create({ name: 'a', tenantId: 'b' })).rejects.toThrow(
      'tenantId must be a UUID, got "b".',
    );
    await expect(keys.create({ name: 'a', tenantId: unknownId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(keys.revoke(unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(keys.revoke('b')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect((await keys.list()).items).toEqual([]);
  });
});

describe("a tenant's view of keys", () => {
  it('keys: a tenant creates, lists and revokes only its own keys', async () => {
    const { engine } = engineAtNoon();
    const view = engine.as({ tenantId: tenant, actor: 'key:ours' });
    const others = [
      await engine.keys.create({ name: "the operator's" }),
      await engine.keys.create({ name: 'theirs', tenantId: otherTenant }),
    ];
    const own = await view.keys.create({ name: 'ours' });
    expect(own).toMatchObject({ tenantId: tenant, createdBy: 'key:ours' });
    expect((await view.keys.create({ name: 'ours, too', tenantId: tenant })).tenantId).toBe(tenant);
    expect((await view.keys.list()).items.map(({ name }) => name)).toEqual(['ours, too', 'ours']);
    for (const { id } of others)
      await expect(view.keys.revoke(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    for (const { key } of others) expect(await engine.access.authenticate(key)).toBeDefined();
    await view.keys.revoke(own.id);
    expect(await engine.access.authenticate(own.key)).toBeUndefined();
  });

  it('keys: a tenant cannot create a key for another tenant', async () => {
    const view = engineAtNoon().engine.as({ tenantId: tenant, actor: 'key:ours' });
    await expect(view.keys.create({ name: 'grab', tenantId: otherTenant })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(await sql('SELECT FROM api_keys')).toHaveLength(0);
    expect(await sql('SELECT FROM events')).toHaveLength(0);
  });
});

describe('sessions', () => {
  it('sessions: a session has the identity of its key for sixteen hours', async () => {
    const { engine, ports } = engineAtNoon();
    const { key, id } = await engine.keys.create({ name: 'ours', tenantId: tenant });
    const identity = await engine.access.authenticate(key);
    if (!identity) throw new Error('the key is not valid');
    const { token, expiresAt } = await engine.access.openSession(identity);
    expect(expiresAt).toEqual(new Date(noon.getTime() + 16 * hourMs));
    expect(await engine.access.session(token)).toEqual({
      tenantId: tenant,
      actor: 'key:ours',
      keyId: id,
      keyName: 'ours',
    });
    ports.advance(16 * hourMs - 1);
    expect(await engine.access.session(token)).toBeDefined();
    ports.advance(1);
    expect(await engine.access.session(token)).toBeUndefined();
  });

  it('sessions: a session can be opened without a key', async () => {
    const { engine } = engineAtNoon();
    const { token } = await engine.access.openSession({
      tenantId: undefined,
      actor: 'anna',
      keyId: undefined,
      keyName: 'one-time token',
    });
    expect(await engine.access.session(token)).toEqual({
      tenantId: undefined,
      actor: 'anna',
      keyId: undefined,
      keyName: 'one-time token',
    });
  });

  it('sessions: closing a session ends no other', async () => {
    const { engine } = engineAtNoon();
    const { key } = await engine.keys.create({ name: 'one' });
    const [closed, other] = [await logIn(engine, key), await logIn(engine, key)];
    await engine.access.closeSession(closed);
    await engine.access.closeSession('never opened');
    expect(await engine.access.session(closed)).toBeUndefined();
    expect(await engine.access.session(other)).toBeDefined();
    expect(await engine.access.session('')).toBeUndefined();
    expect(await engine.access.session(key)).toBeUndefined();
  });
});
