import { beforeEach, expect, test } from 'vitest';
import type { HandlerOptions } from '../src/web.ts';
import { call } from './http/service.ts';
import { silent, tenant, useDatabase } from './support/database.ts';
import { web } from './support/hosts.ts';

const db = useDatabase();
beforeEach(() => db.sql('TRUNCATE api_keys, sessions'));

async function startWith(options: HandlerOptions) {
  const syncline = db.engine();
  const { key } = await syncline.keys.create({ name: 'mounted' });
  const url = await web(syncline, { logger: silent, basePath: '/sync', ...options });
  return { ask: (path: string, request = {}) => call(url, path, key, request) };
}

test('web: the application authenticates callers', async () => {
  const authenticate = async (request: Request) => {
    const user = request.headers.get('x-user');
    if (user === 'admin') return { actor: 'admin@example.com' };
    return user === 'customer' ? { actor: 'customer@example.com', tenantId: tenant } : undefined;
  };
  const { ask } = await startWith({ authenticate });
  const as = (user: string, more: object = {}) => ({ key: undefined, headers: { 'x-user': user, ...more } });
  expect((await ask('/sync/v1/me', as('admin'))).body).toMatchObject({
    scope: 'operator',
    actor: 'admin@example.com',
  });
  expect((await ask('/sync/v1/me', as('customer'))).body).toMatchObject({
    scope: 'tenant',
    tenant_id: tenant,
  });
  expect((await ask('/sync/v1/system', as('customer'))).status).toBe(403);
  expect((await ask('/sync/v1/me', as('unknown'))).status).toBe(401);
  expect((await ask('/sync/v1/me')).body).toMatchObject({ actor: 'key:mounted' });
  const create = { method: 'POST', json: { name: 'x' } };
  expect((await ask('/sync/v1/tenants', { ...create, ...as('admin') })).status).toBe(403);
  const made = await ask('/sync/v1/tenants', { ...create, ...as('admin', { 'x-syncline-request': '1' }) });
  expect(made.status).toBe(201);
});

test('isolation: a tenantId of null from the application does not grant operator access', async () => {
  const callers: unknown[] = [{ actor: 'anna' }, { actor: 'anna', tenantId: null }];
  const authenticate = (() => callers.shift()) as unknown as NonNullable<HandlerOptions['authenticate']>;
  const { ask } = await startWith({ authenticate });
  expect((await ask('/sync/v1/connections', { key: undefined })).status).toBe(200);
  expect((await ask('/sync/v1/connections', { key: undefined })).status).toBe(400);
});

test('isolation: a tenantId that the application computes in a getter restricts access', async () => {
  class Customer {
    get actor() {
      return 'customer@example.com';
    }
    get tenantId() {
      return tenant;
    }
  }
  const { ask } = await startWith({ authenticate: () => new Customer() });
  expect((await ask('/sync/v1/me', { key: undefined })).body).toMatchObject({
    scope: 'tenant',
    tenant_id: tenant,
    actor: 'customer@example.com',
  });
  expect((await ask('/sync/v1/system', { key: undefined })).status).toBe(403);
});
