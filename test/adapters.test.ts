import express from 'express';
import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../src/contract/signatures.ts';
import type { HandlerOptions } from '../src/web.ts';
import { listen } from './http/events.ts';
import { type Call, call, cookieOf } from './http/service.ts';
import { silent, useDatabase } from './support/database.ts';
import {
  expressBehind,
  fastify,
  type Host,
  hono,
  mountedHono,
  mountPath,
  next,
  otherHono,
  web,
} from './support/hosts.ts';
import { until } from './support/until.ts';
import { asGithub, credentials, hooked, pathOf } from './webhooks/webhook-connector.ts';

const db = useDatabase();
beforeEach(async () => {
  await db.empty();
  await db.sql('TRUNCATE api_keys, sessions');
});

async function start(host: Host, options: HandlerOptions = {}) {
  const connectors = [hooked({ verify: githubSignature() })];
  const syncline = db.engine({ connectors, credentials });
  const { key } = await syncline.keys.create({ name: 'embedded' });
  const url = await host(syncline, { logger: silent, ...options });
  const ask = (path: string, request?: Call) => call(url, path, key, request);
  const post = (path: string, json: unknown, request?: Call) =>
    ask(`${mountPath}${path}`, { method: 'POST', json, ...request });
  /** As a provider does. */
  const deliver = async () => {
    const id = await db.connect();
    const { secret } = await syncline.webhooks.create(id);
    // Spaces: parsing and serializing would change the signed bytes.
    const body = '{ "action" : "opened" }';
    const headers = asGithub(secret, body);
    return ask(`${mountPath}${pathOf(id)}`, { method: 'POST', key: undefined, body, headers });
  };
  return { url, key, ask, post, deliver };
}

const hosts: [string, Host][] = [
  ['hono', hono],
  ['hono, with app.mount', mountedHono],
  ['hono, another copy of the package', otherHono],
  ['express', expressBehind()],
  ['fastify', fastify],
  ['next', next],
  ['web', web],
];

describe.each(hosts)('%s', (name, host) => {
  it(`adapters: ${name} serves the API and the dashboard below its path, and nothing else`, async () => {
    const { ask, post, key } = await start(host);
    expect((await ask('/own')).text).toBe('of the application');
    expect((await ask(`${mountPath}/v1/me`)).body).toMatchObject({ actor: 'key:embedded' });
    expect((await ask(`${mountPath}/v1/me?limit=1`)).status).toBe(400);
    expect((await ask(`${mountPath}/v1/nothing`)).body).toMatchObject({ code: 'NOT_FOUND' });
    expect((await ask(`${mountPath}/openapi.json`)).body['servers']).toEqual([{ url: mountPath }]);
    for (const path of [mountPath, `${mountPath}/connections`])
      expect((await ask(path, { key: undefined })).text).toContain(`<base href="${mountPath}/">`);
    const script = /src="\.(\/assets\/[^"]+\.js)"/.exec((await ask(mountPath)).text)?.[1];
    const file = `${mountPath}${script}`;
    const plain = await ask(file, { headers: { 'accept-encoding': 'identity' } });
    const compressed = await ask(file, { headers: { 'accept-encoding': 'gzip' } });
    expect(plain.headers.get('content-type')).toContain('text/javascript');
    expect([plain, compressed].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip']);
    expect(compressed.text).toBe(plain.text);

    const created = await post('/v1/tenants', { name: 'Northwind' });
    expect([created.status, created.body['name']]).toEqual([201, 'Northwind']);
    const login = await post('/v1/session', { key }, { key: undefined });
    expect(login.headers.get('set-cookie')).toContain(`Path=${mountPath};`);
    const headers = { cookie: `syncline_session=${cookieOf(login)}` };
    expect((await ask(`${mountPath}/v1/me`, { key: undefined, headers })).status).toBe(200);
  });

  it(`adapters: ${name} accepts signed deliveries`, async () => {
    const { deliver } = await start(host);
    expect(await deliver()).toMatchObject({ status: 202 });
  });

  it(`adapters: ${name} streams events until the signal of the application aborts`, async () => {
    const stop = new AbortController();
    const { url, key } = await start(host, { signal: stop.signal });
    const stream = await listen({ url, key }, `${mountPath}/v1/live`);
    await until('the stream is open', () => stream.events.length > 0);
    stop.abort();
    await stream.ended;
  });
});

describe('client address', () => {
  const loginAddress = async (host: Host, options?: HandlerOptions) => {
    const { post, key } = await start(host, options);
    await post('/v1/session', { key }, { key: undefined });
    const [event] = await db.sql<{ address: string }>(
      `SELECT detail ->> 'address' AS address FROM events WHERE kind = 'session.opened'`,
    );
    return event?.address;
  };

  it.each(hosts.slice(0, 5))('client address: %s passes the address of the socket', async (_, host) => {
    expect(await loginAddress(host)).toBe('127.0.0.1');
  });

  it.each(hosts.slice(5))('client address: %s has none', async (_, host) => {
    expect(await loginAddress(host)).toBe('unknown');
  });

  it.each(hosts.slice(3))('client address: in %s, an option can return it', async (_, host) => {
    expect(await loginAddress(host, { clientAddress: () => '203.0.113.9' })).toBe('203.0.113.9');
  });
});

describe('base path', () => {
  it('base path: works under a path with parameters and encoded characters', async () => {
    const handlers: HandlerOptions = { logger: silent };
    const { Hono } = await import('hono');
    const { createHandler } = await import('../src/hono.ts');
    const syncline = db.engine();
    const { key } = await syncline.keys.create({ name: 'embedded' });
    const app = new Hono();
    app.all('/orgs/:org/sync/*', createHandler(syncline, handlers));
    const path = '/orgs/ac%20me/sync';
    const headers = { authorization: `Bearer ${key}` };
    const me = await app.request(`${path}/v1/me`, { headers });
    expect(me.status).toBe(200);
    const document = (await (await app.request(`${path}/openapi.json`)).json()) as { servers: unknown };
    expect(document.servers).toEqual([{ url: path }]);
  });

  it('base path: without the option, a 404 names it', async () => {
    const { ask } = await start(web, { basePath: '/' });
    expect((await ask(`${mountPath}/v1/me`)).body).toMatchObject({
      status: 404,
      hint: 'If Syncline is mounted at /admin/sync, set the handler option basePath to it.',
    });
  });

  it('base path: an option replaces the detected path in links, for a proxy that rewrites it', async () => {
    const { ask } = await start(expressBehind(), { basePath: '/tools/sync/' });
    expect((await ask(`${mountPath}/v1/me`)).status).toBe(200);
    expect((await ask(`${mountPath}/openapi.json`)).body['servers']).toEqual([{ url: '/tools/sync' }]);
  });
});

describe('body parsers', () => {
  const raw = express.raw({ type: '*/*' });
  const keepRaw = express.json({
    verify: (request, _response, bytes) => Object.assign(request, { rawBody: bytes }),
  });

  it.each([
    ['express.json()', express.json()],
    ['express.text()', express.text({ type: '*/*' })],
    ['express.raw()', raw],
  ])('body parsers: JSON routes work behind %s', async (_, parser) => {
    const { post, ask } = await start(expressBehind(parser));
    const created = await post('/v1/tenants', { name: 'Nørthwind "1"' });
    expect([created.status, created.body['name']]).toEqual([201, 'Nørthwind "1"']);
    expect((await post('/v1/tenants', { nam: 1 })).status).toBe(400);
    // Without a body.
    const id = await db.connect();
    expect((await ask(`${mountPath}/v1/connections/${id}/pause`, { method: 'POST' })).status).toBe(200);
  });

  it('body parsers: a delivery behind express.json() gets a 500 that names the fix', async () => {
    const { deliver } = await start(expressBehind(express.json()));
    expect((await deliver()).body).toMatchObject({
      status: 500,
      detail: 'A body parser has read the delivery; its signature covers the raw bytes.',
      hint: 'Mount Syncline before body parsers, such as express.json().',
    });
  });

  it.each([
    ['express.raw()', raw],
    ['express.json() that keeps rawBody', keepRaw],
  ])('body parsers: %s keeps the bytes of deliveries', async (_, parser) => {
    const { deliver } = await start(expressBehind(parser));
    expect((await deliver()).status).toBe(202);
  });

  it('body parsers: a body that middleware discarded gets a 500 that names the fix', async () => {
    const { post } = await start(
      expressBehind((request, _response, proceed) => void request.resume().on('end', () => proceed())),
    );
    expect((await post('/v1/tenants', { name: 'x' })).body).toMatchObject({
      status: 500,
      detail: 'The body was read before the request reached Syncline.',
      hint: 'Mount Syncline before body parsers, such as express.json().',
    });
  });

  it('body parsers: a Request whose body was read gets a 500 that names the fix', async () => {
    const { createHandler } = await import('../src/web.ts');
    const syncline = db.engine();
    const { key } = await syncline.keys.create({ name: 'embedded' });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = new Request('http://app/v1/tenants', { method: 'POST', headers, body: '{"name":"x"}' });
    await request.text();
    const response = await createHandler(syncline, { logger: silent })(request);
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringContaining('was read before'),
    ]);
  });
});
