import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { startService } from './service.ts';

const db = useDatabase();
const key = () => `k1:${randomBytes(32).toString('base64')}`;

test('credentials: no response of create, list, attach, replace and delete contains a secret', async () => {
  const { call } = await startService(db, { engine: { credentials: { keys: [key()] } } });
  const create = (secret: unknown) =>
    call('/v1/credentials', {
      method: 'POST',
      json: { tenant_id: tenant, provider: 'github', name: 'n', secret },
    });
  const secrets = [
    { type: 'api_key', key: 'hush-1' },
    { type: 'basic', username: 'user', password: 'hush-2' },
    { type: 'oauth2', access_token: 'hush-3', refresh_token: 'hush-4', expires_at: '2030-01-01T00:00:00Z' },
    { type: 'custom', fields: { token: 'hush-5' } },
  ];
  const ids: string[] = [];
  for (const secret of secrets) {
    const { status, body } = await create(secret);
    expect([status, body['kind']]).toEqual([201, secret.type]);
    ids.push(String(body['id']));
  }
  const [id] = ids;
  const listed = await call('/v1/credentials?limit=2');
  expect(listed.body.items.map((item) => item['id'])).toEqual(ids.slice(0, 2));
  const next = await call(`/v1/credentials?cursor=${listed.body['next_cursor']}`);
  expect(next.body.items).toHaveLength(2);
  expect(next.body.items[0]?.['expires_at']).toBe('2030-01-01T00:00:00.000Z');

  const connection = await call('/v1/connections', {
    method: 'POST',
    json: { tenant_id: tenant, provider: 'github', credential_id: id },
  });
  expect(connection.body['credential_id']).toBe(id);
  const patch = (json: unknown) =>
    call(`/v1/connections/${connection.body['id']}`, { method: 'PATCH', json });
  expect((await patch({ credential_id: ids[1] })).body['credential_id']).toBe(ids[1]);
  const put = await call(`/v1/credentials/${ids[1]}`, { method: 'PUT', json: { secret: secrets[0] } });
  expect(put.body).toMatchObject({ kind: 'api_key', generation: 2, connections: 1 });
  const refused = await call(`/v1/credentials/${ids[1]}`, { method: 'DELETE' });
  expect(refused.body).toMatchObject({
    status: 409,
    detail: expect.stringContaining('a connection uses it'),
  });
  expect((await patch({ credential_id: null })).body['credential_id']).toBeNull();
  expect((await call(`/v1/credentials/${ids[1]}`, { method: 'DELETE' })).status).toBe(204);
  expect((await call(`/v1/credentials/${ids[1]}`)).status).toBe(404);
  const responses = [listed, next, connection, put, refused].map(({ text }) => text).join();
  expect(responses).not.toContain('hush');
});

test('credentials: validation errors name the field without repeating the secret', async () => {
  const { call } = await startService(db, { engine: { credentials: { keys: [key()] } } });
  const errors = async (secret: unknown) => {
    const json = { tenant_id: tenant, provider: 'github', secret };
    const { status, text, body } = await call('/v1/credentials', { method: 'POST', json });
    expect(status).toBe(400);
    expect(text).not.toContain('hush');
    return body['errors'];
  };
  expect(await errors(undefined)).toEqual([{ field: 'secret', message: 'is missing' }]);
  expect(await errors({ type: 'hush' })).toEqual([
    { field: 'secret.type', message: 'must have a type: api_key, basic, oauth2 or custom' },
  ]);
  expect(await errors({ type: 'api_key', key: { hush: 5 } })).toEqual([
    { field: 'secret.key', message: 'must be text' },
  ]);
  expect(await errors({ type: 'api_key', key: 'hush', extra: 'hush' })).toEqual([
    { field: 'secret.extra', message: expect.stringContaining('is unknown') },
  ]);
  expect(await errors({ type: 'oauth2', access_token: 'hush', expires_at: 'hush' })).toEqual([
    { field: 'secret.expires_at', message: 'must be a time such as 2025-01-01T12:00:00Z' },
  ]);
});

test('credentials: without an encryption key, storing a credential fails with 409 and a hint', async () => {
  const { call } = await startService(db);
  const json = { tenant_id: tenant, provider: 'github', secret: { type: 'api_key', key: 'hush' } };
  const { body, text } = await call('/v1/credentials', { method: 'POST', json });
  expect(body).toMatchObject({ status: 409, hint: expect.stringContaining('syncline credentials keygen') });
  expect(text).not.toContain('hush');
});
