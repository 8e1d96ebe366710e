import { OpenAPIHono } from '@hono/zod-openapi';
import { Hono } from 'hono';
import { beforeEach, expect, test } from 'vitest';
import { type HandlerOptions, synclineHandler } from '../../src/http/handler.ts';
import { startServer } from '../../src/http/server.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { silent, tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { listen } from './events.ts';
import { call, closeLater, cookieOf } from './service.ts';

const db = useDatabase();
beforeEach(() => db.sql('TRUNCATE api_keys, sessions'));

async function startMounted(
  mount: (handler: Hono) => Parameters<typeof startServer>[0]['app'],
  options: HandlerOptions = {},
) {
  const syncline = db.engine();
  const { key } = await syncline.keys.create({ name: 'mounted' });
  const handler = synclineHandler(syncline, { logger: silent, ...options });
  const { url } = closeLater(
    await startServer({ app: mount(handler), host: '127.0.0.1', port: 0, ports: systemPorts }),
  );
  return { url, key, syncline, ask: (path: string, request = {}) => call(url, path, key, request) };
}

const under = (path: string) => (handler: Hono) => {
  const app = new Hono();
  app.get('/', (c) => c.text('mine'));
  app.route(path, handler);
  app.notFound((c) => c.text('mine too', 404));
  return app;
};

test('mount: serves links, cookies and the OpenAPI document under its path', async () => {
  const { ask, key } = await startMounted(under('/admin/sync'));
  expect((await ask('/')).text).toBe('mine');
  expect((await ask('/elsewhere')).text).toBe('mine too');
  expect((await ask('/admin/sync/v1/me')).body).toMatchObject({ scope: 'operator', actor: 'key:mounted' });
  expect((await ask('/admin/sync/v1/nothing')).body).toMatchObject({ code: 'NOT_FOUND' });
  expect((await ask('/admin/sync/v1/me', { key: 'syn_wrong' })).body).toMatchObject({ status: 401 });
  expect((await ask('/admin/sync/v1/connections?limt=1')).body).toMatchObject({ status: 400 });
  expect((await ask('/admin/sync/v1/connections', { method: 'PUT' })).status).toBe(405);
  const document = (await ask('/admin/sync/openapi.json')).body as unknown as {
    servers: unknown;
    paths: Record<string, unknown>;
  };
  expect(document.servers).toEqual([{ url: '/admin/sync' }]);
  expect(document.paths).toHaveProperty('/v1/me');
  const login = await ask('/admin/sync/v1/session', { method: 'POST', key: undefined, json: { key } });
  expect(login.headers.get('set-cookie')).toContain('Path=/admin/sync;');
  const headers = { cookie: `syncline_session=${cookieOf(login)}` };
  expect((await ask('/admin/sync/v1/me', { key: undefined, headers })).status).toBe(200);
});

test('mount: works under a nested path with a parameter', async () => {
  const { ask } = await startMounted((handler) =>
    new Hono().route('/orgs/:org', new Hono().route('/sync', handler)),
  );
  expect((await ask('/orgs/acme/sync/openapi.json')).body['servers']).toEqual([{ url: '/orgs/acme/sync' }]);
  const id = await db.connect();
  expect((await ask(`/orgs/acme/sync/v1/connections/${id}`)).body['id']).toBe(id);
});

test('mount: uses basePath if the path is stripped', async () => {
  const strip = (handler: Hono) => new Hono().mount('/tools', handler.fetch as never);
  const { ask } = await startMounted(strip, { basePath: '/tools/' });
  expect((await ask('/tools/v1/me')).status).toBe(200);
  expect((await ask('/tools/openapi.json')).body['servers']).toEqual([{ url: '/tools' }]);
});

test('mount: routes do not appear in the OpenAPI document of the outer application', async () => {
  const outer = new OpenAPIHono();
  await startMounted((handler) => outer.route('/sync', handler));
  const document = outer.getOpenAPI31Document({ openapi: '3.1.0', info: { title: 'mine', version: '1' } });
  expect(document.paths).toEqual({});
});

test('mount: the application authenticates callers', async () => {
  const authenticate = async (request: Request) => {
    const user = request.headers.get('x-user');
    if (user === 'admin') return { actor: 'admin@example.com' };
    return user === 'customer' ? { actor: 'customer@example.com', tenantId: tenant } : undefined;
  };
  const { ask } = await startMounted(under('/sync'), { authenticate });
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

test('mount: streams end when the signal of the application aborts', async () => {
  const stop = new AbortController();
  const { url, key } = await startMounted(under('/sync'), { signal: stop.signal });
  const listener = await listen({ url, key }, '/sync/v1/live');
  await until('the stream is open', () => listener.events.length > 0);
  stop.abort();
  await listener.ended;
});

test('isolation: a tenantId of null from the application does not grant operator access', async () => {
  const callers: unknown[] = [{ actor: 'anna' }, { actor: 'anna', tenantId: null }];
  const authenticate = (() => callers.shift()) as unknown as NonNullable<HandlerOptions['authenticate']>;
  const { ask } = await startMounted(under('/sync'), { authenticate });
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
  const { ask } = await startMounted(under('/sync'), { authenticate: () => new Customer() });
  expect((await ask('/sync/v1/me', { key: undefined })).body).toMatchObject({
    scope: 'tenant',
    tenant_id: tenant,
    actor: 'customer@example.com',
  });
  expect((await ask('/sync/v1/system', { key: undefined })).status).toBe(403);
});
