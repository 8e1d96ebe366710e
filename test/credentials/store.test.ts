import { beforeEach, describe, expect, it } from 'vitest';
import type { Secret } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { handlesOn, newKey } from './handles.ts';

const database = useDatabase();
const { sql } = database;
const keys = [newKey()];
const engine = () => database.engine({ credentials: { keys } });
const other = '00000000-0000-4000-8000-000000000002';
const unknownId = '00000000-0000-4000-8000-00000000dead';
const apiKey: Secret = { type: 'api_key', key: 'the-key-itself' };

beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM tenants WHERE id <> $1', [tenant]);
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'another')`, [other]);
  await sql(`INSERT INTO providers (slug) VALUES ('slack') ON CONFLICT DO NOTHING`);
});

const kindsOf = async () =>
  (await sql<{ kind: string }>('SELECT kind FROM events ORDER BY id')).map(({ kind }) => kind);

describe('credentials: storage', () => {
  it('credentials: every kind is stored encrypted, listed without secret, and opens for a run', async () => {
    const { credentials } = engine();
    const secrets: Secret[] = [
      apiKey,
      { type: 'basic', username: 'user', password: 'the-password' },
      {
        type: 'oauth2',
        accessToken: 'the-access',
        refreshToken: 'the-refresh',
        expiresAt: '2030-01-01T00:00:00Z',
      },
      { type: 'custom', fields: { privateKey: 'the-private-key', n: 1 } },
    ];
    const handle = handlesOn(database, { keys });
    for (const secret of secrets) {
      const created = await credentials.create({
        tenantId: tenant,
        provider: 'github',
        name: 'a name',
        secret,
      });
      expect(created).toMatchObject({ kind: secret.type, generation: 1, connections: 0, name: 'a name' });
      expect(
        JSON.stringify([created, await credentials.get(created.id), await credentials.list()]),
      ).not.toMatch(/the-/);
      const opened = await handle(created.id).get();
      if (secret.type === 'oauth2')
        expect(opened).toEqual({
          id: created.id,
          generation: 1,
          type: 'oauth2',
          accessToken: 'the-access',
          expiresAt: new Date('2030-01-01T00:00:00Z'),
        });
      else expect(opened).toEqual({ id: created.id, generation: 1, ...secret });
    }
    const rows = await sql<{ row: string }>('SELECT c::text || e::text AS row FROM credentials c, events e');
    expect(rows.map(({ row }) => row).join()).not.toMatch(/the-/);
    expect(await kindsOf()).toEqual(secrets.map(() => 'credential.created'));
  });

  it('credentials: an upper-case tenant id opens too', async () => {
    const upper = 'ABCDEF00-0000-4000-8000-000000000003';
    await sql(`INSERT INTO tenants (id) VALUES ($1)`, [upper]);
    const { id } = await engine().credentials.create({ tenantId: upper, provider: 'github', secret: apiKey });
    const handle = handlesOn(database, { keys })(id, undefined, upper.toLowerCase());
    expect(await handle.get()).toMatchObject({ key: 'the-key-itself' });
  });

  it('credentials: without a key only create() fails, with a hint', async () => {
    const { credentials, connections } = database.engine();
    await connections.create({ tenantId: tenant, provider: 'github' });
    expect((await credentials.list()).items).toEqual([]);
    await expect(
      credentials.create({ tenantId: tenant, provider: 'github', secret: apiKey }),
    ).rejects.toMatchObject({
      code: 'CONFLICT',
      hint: expect.stringContaining('syncline credentials keygen'),
    });
  });

  it('credentials: errors name the invalid field, not its value', async () => {
    const { credentials } = engine();
    const create = (secret: unknown, more = {}) =>
      credentials.create({ tenantId: tenant, provider: 'github', secret: secret as Secret, ...more });
    await expect(create({ type: 'api_key' })).rejects.toThrow('secret.key must be text, got nothing.');
    await expect(create({ type: 'api_key', key: ['hush'] })).rejects.toThrow(
      /^secret.key must be text, got object\.$/,
    );
    await expect(create({ type: 'magic' })).rejects.toThrow(/^secret.type must be one of .*, got "magic"/);
    await expect(create({ type: 'oauth2', accessToken: 'a', expiresAt: 'soon' })).rejects.toThrow(
      'secret.expiresAt',
    );
    await expect(create({ type: 'custom', fields: [] })).rejects.toThrow('secret.fields must be an object');
    await expect(create({ type: 'api_key', key: 'x'.repeat(70_000) })).rejects.toThrow('at most 65536 bytes');
    await expect(create(apiKey, { tenantId: unknownId })).rejects.toThrow(`There is no tenant ${unknownId}.`);
    await expect(create(apiKey, { provider: 'unheard' })).rejects.toThrow('There is no provider "unheard".');
    await expect(credentials.get(unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(credentials.replace(unknownId, apiKey)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(credentials.delete(unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('credentials: a tenant can read and use only its own credentials', async () => {
    const operator = engine();
    const theirs = await operator.credentials.create({ tenantId: other, provider: 'github', secret: apiKey });
    const mine = await operator.credentials.create({ tenantId: tenant, provider: 'github', secret: apiKey });
    const view = operator.as({ tenantId: tenant, actor: 'key:mine' });
    expect((await view.credentials.list()).items.map(({ id }) => id)).toEqual([mine.id]);
    expect((await operator.credentials.list({ tenantId: other })).items.map(({ id }) => id)).toEqual([
      theirs.id,
    ]);
    for (const attempt of [
      () => view.credentials.get(theirs.id),
      () => view.credentials.replace(theirs.id, apiKey),
      () => view.credentials.delete(theirs.id),
      () => view.credentials.create({ tenantId: other, provider: 'github', secret: apiKey }),
      () => view.connections.create({ tenantId: tenant, provider: 'github', credentialId: theirs.id }),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(view.credentials.rotate()).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(handlesOn(database, { keys })(theirs.id).get()).rejects.toThrow(
      'The credential was deleted.',
    );
  });

  it('credentials: pages join without gaps, and filters apply', async () => {
    const { credentials } = engine();
    const created: string[] = [];
    for (let i = 0; i < 5; i++) {
      const provider = i % 2 ? 'slack' : 'github';
      created.push((await credentials.create({ tenantId: tenant, provider, secret: apiKey })).id);
    }
    const first = await credentials.list({ limit: 2 });
    const second = await credentials.list({ limit: 3, cursor: first.nextCursor });
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(created);
    expect(second.nextCursor).toBeUndefined();
    expect((await credentials.list({ provider: 'slack' })).items).toHaveLength(2);
  });
});

describe('credentials: use by connections', () => {
  it('credentials: a connection accepts only a credential of its tenant and provider', async () => {
    const { credentials, connections } = engine();
    const { id: credentialId } = await credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret: apiKey,
    });
    const created = await connections.create({ tenantId: tenant, provider: 'github', credentialId });
    expect(created.credentialId).toBe(credentialId);
    expect((await credentials.get(credentialId)).connections).toBe(1);
    const { id } = await connections.create({ tenantId: tenant, provider: 'github' });
    expect((await connections.setCredential(id, credentialId, { reason: 'shared' })).credentialId).toBe(
      credentialId,
    );
    expect((await connections.setCredential(id, null)).credentialId).toBeUndefined();
    const changes = await sql(
      `SELECT detail, reason FROM events WHERE kind = 'connection.credential_changed' ORDER BY id`,
    );
    expect(changes).toEqual([
      { detail: { from: null, to: credentialId }, reason: 'shared' },
      { detail: { from: credentialId, to: null }, reason: null },
    ]);
    const foreign = await credentials.create({ tenantId: other, provider: 'github', secret: apiKey });
    const slack = await credentials.create({ tenantId: tenant, provider: 'slack', secret: apiKey });
    await expect(connections.setCredential(id, foreign.id)).rejects.toThrow(
      'of the same tenant as the connection',
    );
    await expect(connections.setCredential(id, slack.id)).rejects.toThrow(
      /for "github", got .*, which is one for "slack"/,
    );
    await expect(connections.setCredential(id, unknownId)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(
      connections.create({ tenantId: tenant, provider: 'github', credentialId: foreign.id }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    // A foreign key rejects it too.
    await expect(
      sql('UPDATE connections SET credential_id = $1 WHERE id = $2', [foreign.id, id]),
    ).rejects.toMatchObject({ constraint: 'connections_credential' });
  });

  it('credentials: deleting a credential in use fails with the number of its connections', async () => {
    const { credentials, connections } = engine();
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret: apiKey });
    const created = [1, 2].map(() =>
      connections.create({ tenantId: tenant, provider: 'github', credentialId: id }),
    );
    const [first, second] = await Promise.all(created);
    await expect(credentials.delete(id)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `Credential ${id} cannot be deleted: 2 connections use it.`,
    });
    await connections.delete(first?.id as string);
    expect((await credentials.get(id)).connections).toBe(1);
    await expect(credentials.delete(id)).rejects.toThrow('a connection uses it');
    await connections.setCredential(second?.id as string, null);
    await credentials.delete(id, { reason: 'no longer needed' });
    await expect(credentials.get(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await sql(`SELECT reason FROM events WHERE kind = 'credential.deleted'`)).toEqual([
      { reason: 'no longer needed' },
    ]);
  });

  it('credentials: deleting a connection deletes a credential that only it used', async () => {
    const { credentials, connections } = engine();
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret: apiKey });
    const connection = await connections.create({ tenantId: tenant, provider: 'github', credentialId: id });
    await connections.delete(connection.id);
    await expect(credentials.get(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await kindsOf()).slice(-2)).toEqual(['connection.deleted', 'credential.deleted']);
  });

  it('credentials: a new credential activates only connections in needs_auth', async () => {
    const { credentials, connections } = engine();
    const { id: credentialId } = await credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret: apiKey,
    });
    const create = () => connections.create({ tenantId: tenant, provider: 'github', credentialId });
    const [waiting, paused, detached] = [await create(), await create(), await create()];
    await connections.setCredential(detached.id, null);
    await connections.pause(paused.id);
    await sql(`UPDATE connections SET status = 'needs_auth' WHERE id = ANY ($1)`, [
      [waiting.id, detached.id],
    ]);
    await sql(`UPDATE credentials SET refused_at = now(), refused_reason = 'old'`);
    const replaced = await credentials.replace(
      credentialId,
      { type: 'api_key', key: 'another' },
      { reason: 'leaked' },
    );
    expect(replaced).toMatchObject({ generation: 2, refusedAt: undefined, refusedReason: undefined });
    const statusOf = async (id: string) => (await connections.get(id)).status;
    expect([await statusOf(waiting.id), await statusOf(paused.id), await statusOf(detached.id)]).toEqual([
      'active',
      'paused',
      'needs_auth',
    ]);
    expect(
      await sql(`SELECT reason FROM events WHERE kind = 'connection.resumed' AND connection_id = $1`, [
        waiting.id,
      ]),
    ).toEqual([{ reason: 'its credential was replaced' }]);
    expect(await sql(`SELECT reason FROM events WHERE kind = 'credential.replaced'`)).toEqual([
      { reason: 'leaked' },
    ]);
    await connections.setCredential(detached.id, credentialId);
    expect(await statusOf(detached.id)).toBe('active');
    expect((await engine().audit.list({ kind: 'credential.replaced' })).items).toHaveLength(1);
  });

  it('credentials: replacing a credential activates 450 connections, more than one transaction', async () => {
    const { credentials } = engine();
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret: apiKey });
    await sql(
      `INSERT INTO connections (tenant_id, provider_slug, credential_id, status)
       SELECT $1, 'github', $2, 'needs_auth' FROM generate_series(1, 450)`,
      [tenant, id],
    );
    await credentials.replace(id, apiKey);
    expect(await sql(`SELECT status, count(*)::int AS n FROM connections GROUP BY 1`)).toEqual([
      { status: 'active', n: 450 },
    ]);
  });
});

describe('credentials: key rotation', () => {
  it('credentials: rotate() re-encrypts with the first key and skips rows it cannot open', async () => {
    const [old, current, lost] = [newKey('old'), newKey('young'), newKey('lost')];
    const before = database.engine({ credentials: { keys: [old] } });
    const ids: string[] = [];
    for (let i = 0; i < 130; i++)
      ids.push(
        (await before.credentials.create({ tenantId: tenant, provider: 'github', secret: apiKey })).id,
      );
    const otherEngine = database.engine({ credentials: { keys: [lost] } });
    const unopened = await otherEngine.credentials.create({
      tenantId: tenant,
      provider: 'github',
      secret: apiKey,
    });
    const updated = await sql('SELECT id, generation, updated_at FROM credentials ORDER BY id');

    const { credentials } = database.engine({ credentials: { keys: [current, old] } });
    // One row is locked; rotate() retries it at the end.
    const holder = await database.session();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM syncline.credentials WHERE id = $1 FOR NO KEY UPDATE', [ids[5]]);
    const steps: number[] = [];
    const rotating = credentials.rotate(({ rotated }) => {
      steps.push(rotated);
      if (rotated === 129) void holder.query('COMMIT');
    });
    expect(await rotating).toEqual({ rotated: 130, unopened: 1 });
    expect(steps.length).toBeGreaterThan(1);
    expect(await credentials.rotate()).toEqual({ rotated: 0, unopened: 1 });
    expect(await sql('SELECT id, generation, updated_at FROM credentials ORDER BY id')).toEqual(updated);
    const handle = handlesOn(database, { keys: [current] });
    for (const id of [ids[0], ids[5], ids[129]])
      expect(await handle(id).get()).toMatchObject({ key: 'the-key-itself' });
    await expect(handle(unopened.id).get()).rejects.toThrow('key "lost", which is not configured here');
  });
});
