import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { type ClientOptions, createClient, SynclineHttpError } from '../../src/client/index.ts';
import { sleep } from '../../src/client/sleep.ts';
import { startService } from '../http/service.ts';
import { cleanUpAfterEach } from '../support/cleanup.ts';
import { connector, signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
beforeEach(() => database.empty());
const cleanups: (() => void)[] = [];
cleanUpAfterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) cleanUp();
});

/** A client of a running service; `requests` lists what it sent, `waits` its delays in ms. */
async function connectClient(options: Partial<ClientOptions> & { loopDelayMs?: () => number } = {}) {
  const { loopDelayMs, ...own } = options;
  const service = await startService(database, {
    engine: { connectors: [connector(() => ({ signals: [signal(1), signal(2)] }))] },
    ...(loopDelayMs && { loopDelayMs }),
  });
  const requests: string[] = [];
  const waits: number[] = [];
  const client = createClient({
    baseUrl: service.url,
    apiKey: service.key,
    fetch: (input, init) => {
      requests.push(`${init?.method} ${new URL(String(input)).pathname}${new URL(String(input)).search}`);
      return fetch(input, init);
    },
    sleep: async (ms) => void waits.push(ms),
    ...own,
  });
  return { ...service, client, requests, waits };
}

const failure = async (call: Promise<unknown>): Promise<SynclineHttpError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SynclineHttpError);
  return error as SynclineHttpError;
};

describe('client: requests', () => {
  it('client: creates, reads, changes and deletes a connection', async () => {
    const { client } = await connectClient();
    const { id: tenant_id } = await client.post('/v1/tenants', { body: { name: 'Northwind' } });
    const created = await client.post('/v1/connections', {
      body: { tenant_id, provider: 'github', external_id: 'a/b' },
    });
    expectTypeOf(created.status).toEqualTypeOf<'active' | 'paused' | 'needs_auth' | 'disabled'>();
    const path = { id: created.id };
    expect(await client.get('/v1/connections/{id}', { path })).toEqual(created);
    const changed = await client.patch('/v1/connections/{id}', { path, body: { interval_seconds: 600 } });
    expect(changed.interval_seconds).toBe(600);
    const paused = await client.post('/v1/connections/{id}/pause', { path, body: { reason: 'maintenance' } });
    expect(paused.status).toBe('paused');
    expect(await client.delete('/v1/connections/{id}', { path })).toBeUndefined();
    expect(await failure(client.get('/v1/connections/{id}', { path }))).toMatchObject({
      code: 'NOT_FOUND',
      status: 404,
      request: 'GET /v1/connections/{id}',
    });
  });

  it('client: names in paths are encoded', async () => {
    const { client, requests } = await connectClient();
    const consumer = await client.put('/v1/consumers/{name}', {
      path: { name: 'a/../b ?#' },
      body: { after: 'beginning' },
    });
    expect(consumer.name).toBe('a/../b ?#');
    expect(requests).toEqual(['PUT /v1/consumers/a%2F..%2Fb%20%3F%23']);
    for (const name of ['', '.', '..'])
      await expect(client.get('/v1/consumers/{name}', { path: { name } })).rejects.toThrow(
        'path.name of /v1/consumers/{name} must be text that is not empty',
      );
  });

  it('client: an invalid field is named with its hint', async () => {
    const { client, key } = await connectClient();
    const query = { limit: 1000 };
    const error = await failure(client.get('/v1/jobs', { query }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', status: 400, field: 'limit' });
    expect(error.errors).toHaveLength(1);
    expect(error.message).toContain('GET /v1/jobs returned 400: ');
    const wrong = await connectClient({ apiKey: 'syn_wrong' });
    const refused = await failure(wrong.client.get('/v1/me'));
    expect(refused).toMatchObject({ code: 'UNAUTHENTICATED', status: 401 });
    expect(JSON.stringify([refused, refused.message])).not.toContain('syn_wrong');
    expect(key).not.toBe('');
  });

  it('client: aborts with the reason of the signal', async () => {
    const { client } = await connectClient();
    const controller = new AbortController();
    const call = client.get('/v1/signals/feed', { query: { wait: 30 }, signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it('client: works under the path where the API is mounted', async () => {
    const urls: string[] = [];
    const client = createClient({
      baseUrl: 'https://app.example/admin/sync/',
      fetch: async (url) => {
        urls.push(String(url));
        return Response.json({});
      },
    });
    await client.get('/v1/me');
    expect(urls).toEqual(['https://app.example/admin/sync/v1/me']);
  });

  it('client: a response of another service and no response are errors with code', async () => {
    const page = createServer((_, response) => response.end('<html>'));
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    cleanups.push(() => page.close());
    const baseUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    expect(await failure(createClient({ baseUrl }).get('/v1/me'))).toMatchObject({
      code: 'INVALID_RESPONSE',
      status: 200,
      message: `GET /v1/me returned 200 without JSON. Check baseUrl, ${baseUrl}.`,
    });
    const refuse = async () => {
      throw new TypeError('fetch failed');
    };
    expect(await failure(createClient({ baseUrl, fetch: refuse }).get('/v1/me'))).toMatchObject({
      code: 'UNREACHABLE',
      status: 0,
    });
  });
});

describe('client: retries', () => {
  it('client: retries a GET after Retry-After, as often as allowed', async () => {
    let overloaded = 2;
    const { client, requests, waits } = await connectClient({
      loopDelayMs: () => (overloaded-- > 0 ? 1e9 : 0),
    });
    expect((await client.get('/v1/me')).scope).toBe('operator');
    expect(requests).toEqual(['GET /v1/me', 'GET /v1/me', 'GET /v1/me']);
    expect(waits).toEqual([2000, 2000]);
  });

  it('client: gives up after maxRetries, and immediately if Retry-After is too long', async () => {
    const loopDelayMs = () => 1e9;
    const { client, requests } = await connectClient({ loopDelayMs, maxRetries: 1 });
    expect(await failure(client.get('/v1/me'))).toMatchObject({ status: 503, retryAfterSeconds: 2 });
    expect(requests).toHaveLength(2);
    const impatient = await connectClient({ loopDelayMs, maxRetryAfterSeconds: 1 });
    await failure(impatient.client.get('/v1/me'));
    expect(impatient.requests).toHaveLength(1);
  });

  it('client: does not repeat changes', async () => {
    const { client, requests } = await connectClient({ loopDelayMs: () => 1e9 });
    await failure(client.post('/v1/tenants', { body: { name: 'Northwind' } }));
    expect(requests).toEqual(['POST /v1/tenants']);
  });

  it('client: an abort ends the wait for a retry', async () => {
    const controller = new AbortController();
    const { client, requests } = await connectClient({
      loopDelayMs: () => 1e9,
      // With the timer of the client.
      sleep: undefined,
    });
    const call = client.get('/v1/me', { signal: controller.signal });
    while (requests.length === 0) await new Promise(setImmediate);
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    expect(requests).toHaveLength(1);
  });
});

describe('client: lists and the feed', () => {
  it('client: pages and items follow next_cursor to the end', async () => {
    const { client, syncline, requests } = await connectClient();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await syncline.tenants.create({ name: `list ${name}` });
    const query = { search: 'list', limit: 2 };
    const names: (string | null)[] = [];
    for await (const tenant of client.items('/v1/tenants', { query })) names.push(tenant.name);
    expect(names).toEqual(['list a', 'list b', 'list c', 'list d', 'list e']);
    expect(requests).toHaveLength(3);
    const sizes: number[] = [];
    for await (const { items } of client.pages('/v1/tenants', { query })) sizes.push(items.length);
    expect(sizes).toEqual([2, 2, 1]);
  });

  it('FEED-2: a consumer continues after the last page that was processed', async () => {
    const { client, syncline } = await connectClient();
    const { id: tenantId } = await syncline.tenants.create({ name: 'Northwind' });
    const { id } = await syncline.connections.create({ tenantId, provider: 'github' });
    await syncline.connections.trigger(id);
    await syncline.drain();
    const read = async (count: number) => {
      const found: unknown[] = [];
      for await (const { payload } of client.feed({ consumer: 'index', limit: 1 })) {
        found.push(payload);
        if (found.length === count) break;
      }
      return found;
    };
    const all = await read(2);
    expect(all.toSorted()).toEqual([1, 2]);
    // The second page was left before its end.
    expect(await read(1)).toEqual([all[1]]);
  });

  it('client: an abort ends the feed', async () => {
    const { client, requests } = await connectClient();
    const controller = new AbortController();
    const feed = client.feed({ after: 'latest' }, { signal: controller.signal });
    const next = feed.next();
    while (requests.length === 0) await new Promise(setImmediate);
    controller.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });
});

it('client: its timer ends after the delay and on abort', async () => {
  await sleep(1);
  await sleep(1e9, AbortSignal.abort());
  const controller = new AbortController();
  const sleeping = sleep(1e9, controller.signal);
  controller.abort();
  await sleeping;
});
