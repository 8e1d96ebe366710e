import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../../src/contract/signatures.ts';
import { startService } from '../http/service.ts';
import { useCli } from '../support/cli.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { asGithub, credentials, deliver, hooked, pathOf } from './webhook-connector.ts';

const database = useDatabase();
const { sql, connect } = database;
const cli = useCli(database, `export default { credentials: ${JSON.stringify(credentials)} };`);
const connectors = [hooked({ verify: githubSignature() })];
const start = () => startService(database, { engine: { connectors, credentials } });

beforeEach(() => database.empty());

describe('webhooks: a connection gets a secret that is shown once', () => {
  it('webhooks: creates, reads, replaces and deletes a secret over HTTP and records events', async () => {
    const service = await start();
    const { call } = service;
    const id = await connect();
    const path = `/v1/connections/${id}/webhook`;
    const none = {
      connection_id: id,
      path: pathOf(id),
      exists: false,
      created_at: null,
      last_received_at: null,
    };
    expect((await call(path)).body).toEqual(none);
    const { status, body } = await call(path, { method: 'PUT' });
    expect([status, body]).toEqual([
      200,
      {
        ...none,
        exists: true,
        created_at: expect.any(String),
        secret: expect.stringMatching(/^[\da-f]{64}$/),
      },
    ]);
    const { secret: _, ...shown } = body;
    expect((await call(path)).body).toEqual(shown);

    const ownSecret = 'a secret that the provider made';
    const second = await call(path, { method: 'PUT', json: { secret: ownSecret } });
    expect(second.body['secret']).toBe(ownSecret);
    const send = (secret: unknown) =>
      deliver(service, String(shown['path']), '{}', asGithub(String(secret), '{}'));
    expect((await send(body['secret'])).status).toBe(401);
    expect((await send(ownSecret)).status).toBe(202);
    expect((await call(path)).body['last_received_at']).toEqual(expect.any(String));

    expect((await call(path, { method: 'DELETE' })).status).toBe(204);
    expect((await call(path, { method: 'DELETE' })).status).toBe(404);
    expect((await send(ownSecret)).status).toBe(401);
    expect((await call(path)).body).toEqual(none);
    expect(
      await sql('SELECT kind, tenant_id FROM events WHERE connection_id = $1 ORDER BY id', [id]),
    ).toEqual([
      { kind: 'webhook.created', tenant_id: tenant },
      { kind: 'webhook.created', tenant_id: tenant },
      { kind: 'webhook.deleted', tenant_id: tenant },
    ]);
  });

  it('webhooks: the error for an invalid secret does not contain it', async () => {
    const { call, syncline } = await start();
    const id = await connect();
    for (const secret of ['short', 'x'.repeat(501), '']) {
      const { status, text } = await call(`/v1/connections/${id}/webhook`, {
        method: 'PUT',
        json: { secret },
      });
      expect(status).toBe(400);
      expect(text).toContain('16 to 500 characters');
      if (secret !== '') expect(text).not.toContain(secret);
      const refused = syncline.webhooks.create(id, { secret });
      await expect(refused).rejects.toThrow(/16 to 500 characters/);
      if (secret !== '') await expect(refused).rejects.not.toThrow(secret);
    }
    for (const other of [randomUUID(), tenant])
      await expect(syncline.webhooks.create(other)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(syncline.webhooks.get('nothing')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('webhooks: secrets are encrypted and bound to their connection', async () => {
    const service = await start();
    const [id, other] = [await connect(), await connect()] as const;
    const secret = 'not to be found anywhere';
    await service.syncline.webhooks.create(id, { secret });
    await service.syncline.webhooks.create(other);
    const [row] = await sql<{ text: string }>(
      `SELECT string_agg(t, ' ') AS text FROM (SELECT w::text AS t FROM webhooks w UNION ALL SELECT e::text FROM events e) x`,
    );
    expect(row?.text).not.toContain(Buffer.from(secret).toString('hex'));
    expect(row?.text).not.toContain(secret);
    await sql(
      `UPDATE webhooks w SET sealed = o.sealed FROM webhooks o WHERE w.connection_id = $1 AND o.connection_id = $2`,
      [other, id],
    );
    expect((await deliver(service, pathOf(other), '{}', asGithub(secret, '{}'))).status).toBe(503);
    expect((await deliver(service, pathOf(id), '{}', asGithub(secret, '{}'))).status).toBe(202);
  });

  it('webhooks: a tenant cannot create, read or delete webhooks of another tenant', async () => {
    const { syncline } = await start();
    const id = await connect();
    const { id: tenantId } = await syncline.tenants.create({ name: 'another' });
    const { webhooks } = syncline.as({ tenantId, actor: 'another' });
    await syncline.webhooks.create(id);
    const before = await sql('SELECT * FROM webhooks');
    for (const attempt of [webhooks.create, webhooks.get, webhooks.delete])
      await expect(attempt(id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await sql('SELECT * FROM webhooks')).toEqual(before);
    const own = syncline.as({ tenantId: tenant, actor: 'own' }).webhooks;
    expect(await own.get(id)).toMatchObject({ exists: true });
  });

  it('webhooks: create fails with a hint without keys, and with CONFLICT without a webhook', async () => {
    const id = await connect();
    const withoutKeys = database.engine();
    await expect(withoutKeys.webhooks.create(id)).rejects.toMatchObject({
      hint: expect.stringContaining('SYNCLINE_CREDENTIALS_KEYS'),
    });
    const withoutWebhook = database.engine({ connectors: [connector()], credentials });
    await expect(withoutWebhook.webhooks.create(id)).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('webhooks: a webhook is deleted with its connection', async () => {
    const { syncline } = await start();
    const id = await connect();
    await syncline.webhooks.create(id);
    await syncline.connections.delete(id);
    expect(await sql('SELECT FROM webhooks')).toEqual([]);
  });

  it('webhooks: the CLI creates a webhook, reads the secret from a variable, and deletes it', async () => {
    const id = await connect();
    const created = await cli.json<{ secret: string; path: string }>('connections', 'webhook', id);
    expect(created).toMatchObject({ path: pathOf(id), exists: true });
    const service = await start();
    expect((await deliver(service, created.path, '{}', asGithub(created.secret, '{}'))).status).toBe(202);
    const ownSecret = 'a secret from a variable';
    const { code, stdout, stderr } = await cli.runWith(
      { HOOK_SECRET: ownSecret },
      ...['connections', 'webhook', id, '--secret-from-env', 'HOOK_SECRET'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(pathOf(id));
    expect(stdout).not.toContain(ownSecret);
    expect((await deliver(service, created.path, '{}', asGithub(ownSecret, '{}'))).status).toBe(202);
    const missing = await cli.run('connections', 'webhook', id, '--secret-from-env', 'NO_SUCH_SECRET');
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining('that is set, got "NO_SUCH_SECRET"'),
    ]);
    expect(await cli.json('connections', 'webhook', id, '--delete')).toEqual({
      connection_id: id,
      exists: false,
    });
    expect(await sql('SELECT FROM webhooks')).toEqual([]);
  });
});
