import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { bearer, createHttp, createValidators, type HttpOptions } from '../../src/connector-kit/index.ts';
import { type ContextOptions, memoryContext } from '../../src/testing/context.ts';
import { serve } from '../support/providers/local-server.ts';

const credential = { type: 'api_key', key: 'sekret-key-123' } as const;
const http = (baseUrl: string, options: Partial<HttpOptions> = {}, context: ContextOptions = {}) =>
  createHttp(memoryContext({ credential, ...context }), { baseUrl, authorize: bearer(), ...options });

describe('http', () => {
  it('kit: get() sends the credential and validates the response against the schema', async () => {
    const seen: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      seen.push(request.headers.authorization, request.url);
      response.end('{"items":[1,2]}');
    });
    const { data } = await http(`${url}/api`).get('/things', {
      query: { since: 'a b', page: undefined },
      schema: z.object({ items: z.array(z.number()) }),
    });
    expect(data.items).toEqual([1, 2]);
    expect(seen).toEqual(['Bearer sekret-key-123', '/api/things?since=a+b']);
  });

  it('kit: the credential is not sent to another origin, by URL or redirect', async () => {
    const foreignAuthorizations: (string | undefined)[] = [];
    const otherOrigin = await serve((request, response) => {
      foreignAuthorizations.push(request.headers.authorization);
      response.end('{}');
    });
    const url = await serve((_request, response) => response.writeHead(302, { location: otherOrigin }).end());
    await http(url).get('/', { schema: z.object({}) });
    expect(foreignAuthorizations).toEqual([undefined]);
    await expect(http(url).get(otherOrigin)).rejects.toThrow(/not sent to another origin/);
  });

  it('kit: GET is retried after a 502, POST is not', async () => {
    let requestCount = 0;
    const url = await serve((_request, response) =>
      response.writeHead(++requestCount % 2 ? 502 : 200).end('{}'),
    );
    await http(url).get('/');
    expect(requestCount).toBe(2);
    await expect(http(url).request('POST', '/', { json: {} })).rejects.toThrow(/502/);
    expect(requestCount).toBe(3);
  });

  it('kit: getIfChanged sends the stored ETag only with the same credential', async () => {
    const url = await serve((request, response) => {
      if (request.headers['if-none-match'] === '"one"') response.writeHead(304).end();
      else response.writeHead(200, { etag: '"one"' }).end('{}');
    });
    const context = memoryContext({ credential });
    const first = createValidators(undefined);
    const api = createHttp(context, { baseUrl: url, authorize: bearer() });
    expect(await api.getIfChanged('/', { validators: first })).toBeDefined();
    const second = createValidators(first.toCursor());
    expect(await api.getIfChanged('/', { validators: second })).toBeUndefined();
    expect(second.toCursor()).toEqual(first.toCursor());
    const other = createHttp(memoryContext({ credential }), { baseUrl: url, authorize: bearer() });
    expect(await other.getIfChanged('/', { validators: second })).toBeDefined();
  });

  it("kit: network 'public' refuses private addresses", async () => {
    const url = await serve((_request, response) => response.end('{}'));
    const localhost = url.replace('127.0.0.1', 'localhost');
    for (const address of [url, localhost, 'http://[::1]:1', 'http://[::ffff:10.0.0.1]/'])
      await expect(http(address, { network: 'public' }).get('/')).rejects.toThrow(/public internet/);
  });
});
