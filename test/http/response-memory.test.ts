import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createResponseMemory } from '../../src/http/response-memory.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { maxPageBytes } from '../../src/values/limits.ts';
import { JsonText, jsonParts } from '../../src/values/stored-json.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { startService } from './service.ts';

const database = useDatabase();
const { sql } = database;

describe('stored JSON in a response', () => {
  it('stored JSON: is inserted verbatim at any depth', () => {
    const value = {
      a: new JsonText('{"x": 1e400, "y": [1, 2]}'),
      b: [new JsonText('null'), 1],
      c: undefined,
    };
    expect(jsonParts(value).join('')).toBe('{"a":{"x": 1e400, "y": [1, 2]},"b":[null,1]}');
    expect(jsonParts({ a: 1 })).toEqual(['{"a":1}']);
    expect(jsonParts(new JsonText('7')).join('')).toBe('7');
  });

  it('stored JSON: numbers keep their digits over HTTP and are parsed in the API', async () => {
    const connection = await database.connect();
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       VALUES ($1, 'github', $2, 'opened', now(), '{"n": 12345678901234567890.5}')`,
      [tenant, connection],
    );
    const service = await startService(database);
    const { items } = await service.syncline.signals.list();
    expect(items[0]?.payload).toEqual({ n: Number('12345678901234567890.5') });
    for (const path of ['/v1/signals?payload=true', '/v1/signals/feed', `/v1/signals/${items[0]?.id}`])
      expect((await service.call(path)).text).toContain('"payload":{"n": 12345678901234567890.5}');
  });
});

describe('response memory', () => {
  const pages = (count: number, options = {}) =>
    createResponseMemory(count * maxPageBytes, systemPorts, options);
  const isDone = async (promise: Promise<void>) =>
    Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(() => resolve(false)))]);

  it('response memory: a page waits until another is released', async () => {
    const memory = pages(2);
    const [a, b, c] = [memory.open('a'), memory.open('b'), memory.open('c')];
    await a.reserve();
    await b.reserve();
    const waiting = c.reserve();
    expect(await isDone(waiting)).toBe(false);
    a.resize(1000);
    expect(await isDone(waiting)).toBe(false);
    a.release();
    await waiting;
    c.release();
    b.release();
  });

  it('response memory: a reservation shrinks to the actual size', async () => {
    const memory = pages(2);
    for (const name of ['a', 'b', 'c', 'd']) {
      const reservation = memory.open(name);
      await reservation.reserve();
      reservation.resize(1000);
    }
  });

  it('response memory: one caller gets at most half', async () => {
    const memory = pages(4);
    const own = Array.from({ length: 3 }, () => memory.open('greedy'));
    await own[0]?.reserve();
    await own[1]?.reserve();
    const third = own[2]?.reserve() ?? Promise.resolve();
    expect(await isDone(third)).toBe(false);
    await memory.open('other').reserve();
    own[0]?.release();
    await third;
  });

  it('response memory: returns 503 with Retry-After if nothing is released in time', async () => {
    const memory = pages(1, { waitMs: 1 });
    await memory.open('a').reserve();
    await expect(memory.open('b').reserve()).rejects.toMatchObject({
      code: 'TOO_MANY',
      status: 503,
      details: { headers: { 'retry-after': '2' } },
    });
  });

  it('response memory: held until a slow client has read its response or disconnects', async () => {
    const connection = await database.connect();
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'github', $2, 'large', now(), jsonb_build_object('text', repeat('x', 1000000)) FROM generate_series(1, 8)`,
      [tenant, connection],
    );
    // Memory for one page; the next request waits.
    const service = await startService(database, { limits: { responsesBytes: maxPageBytes } });
    const path = `/v1/signals?payload=true&connection_id=${connection}`;
    const { hostname, port } = new URL(service.url);
    const slowClient = connect(Number(port), hostname);
    const head = new Promise((resolve) => slowClient.once('readable', resolve));
    slowClient.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${service.key}\r\n\r\n`,
    );
    await head;
    const refused = await service.call('/v1/tenants');
    expect(refused).toMatchObject({ status: 503, body: { code: 'TOO_MANY' } });
    // Small responses need no reservation.
    expect((await service.call('/v1/me')).status).toBe(200);
    slowClient.destroy();
    await until('the memory is released', async () => (await service.call('/v1/tenants')).status === 200);
    expect((await service.call(path)).body.items).toHaveLength(8);
    const headers = { authorization: `Bearer ${service.key}` };
    expect((await fetch(`${service.url}${path}`, { method: 'HEAD', headers })).status).toBe(200);
    expect((await service.call(path)).body.items).toHaveLength(8);
  });
});
