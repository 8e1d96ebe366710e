import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { apiKeyQuery, bearer, createHttp } from '../../src/connector-kit/index.ts';
import { memoryContext, recordTraffic, replayTraffic } from '../../src/testing/index.ts';
import { serve, stopServers } from '../support/providers/local-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'syncline-traffic-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.jsonl`);

/** Starts a server that echoes requests and counts them. */
async function startEcho(): Promise<string> {
  let count = 0;
  return serve(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    response.writeHead(200, {
      'content-type': 'application/json',
      'set-cookie': 'session=cookie-secret-1',
      etag: '"e1"',
    });
    const { headers, url } = request;
    response.end(JSON.stringify({ count: ++count, url, headers, body: Buffer.concat(chunks).toString() }));
  });
}

/** Writes a recording of these exchanges. */
const writeRecording = (...lines: object[]) => {
  const file = newFile();
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
  return file;
};
const exchange = (url: string, json: unknown, method = 'GET') => ({
  request: { method, url, headers: {} },
  response: { status: 200, headers: { 'content-type': 'application/json' }, json },
});

describe('recordTraffic', () => {
  it('traffic: a recording contains no secret, neither sent nor echoed', async () => {
    const url = await startEcho();
    const file = newFile();
    const send = recordTraffic(file, { secrets: ['tenant "42" secret'] });
    await send(`${url}/a?api_key=query-secret-1&page=2&pageToken=place`, {
      headers: {
        authorization: 'Bearer bearer-secret-1',
        cookie: 'c=cookie-secret-2',
        'x-api-key': 'key-secret-1',
        'ocp-apim-subscription-key': 'key-secret-2',
      },
    });
    await send(`${url}/b`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('me:basic-secret-1').toString('base64')}` },
      body: JSON.stringify({ note: 'tenant "42" secret', password: 'field-secret-1', name: 'kept' }),
    });
    await send(`${url}/c?state=form-secret-1`, {
      method: 'POST',
      body: new URLSearchParams({ client_secret: 'form-secret-1', grant: 'kept' }),
    });
    const text = readFileSync(file, 'utf8');
    expect(text).not.toMatch(/-secret-\d|42\\*" secret/);
    expect(text).not.toContain(Buffer.from('me:basic-secret-1').toString('base64'));
    expect(text).toContain('/a?api_key=[hidden]&page=2&pageToken=place');
    expect(text).toContain('"name":"kept"');
    expect(text).toContain('client_secret=[hidden]&grant=kept');
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('traffic: the caller gets the real response', async () => {
    const url = await startEcho();
    const answer = await recordTraffic(newFile())(`${url}/a`, {
      headers: { authorization: 'Bearer bearer-secret-1' },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('etag')).toBe('"e1"');
    expect(await answer.json()).toMatchObject({ headers: { authorization: 'Bearer bearer-secret-1' } });
  });

  it('traffic: a network error is recorded and replayed', async () => {
    const url = await serve((request) => request.socket.destroy());
    const file = newFile();
    await expect(recordTraffic(file)(url)).rejects.toThrow('fetch failed');
    await expect(replayTraffic(file)(url)).rejects.toMatchObject({
      message: 'fetch failed',
      cause: expect.anything(),
    });
  });
});

describe('replayTraffic', () => {
  it('traffic: replays with another credential and without network access', async () => {
    const url = await startEcho();
    const file = newFile();
    const ask = (fetch: typeof globalThis.fetch, key: string) =>
      createHttp(memoryContext({ fetch, credential: { type: 'api_key', key } }), {
        baseUrl: url,
        authorize: apiKeyQuery('api_key'),
      }).get('/list', { query: { page: 1 }, schema: z.object({ count: z.number(), url: z.string() }) });
    const real = await ask(recordTraffic(file), 'first-key-1');
    stopServers();
    const replay = replayTraffic(file);
    const replayed = await ask(replay, 'second-key-2');
    expect(replayed.data.count).toBe(real.data.count);
    expect(replayed.data.url).toBe('/list?page=1&api_key=[hidden]');
    expect(replayed.headers.get('etag')).toBe('"e1"');
    expect(replay.unused()).toEqual([]);
  });

  it('traffic: repeats are replayed in order, and an extra one is an error without `repeat`', async () => {
    const file = writeRecording(exchange('https://api.example/x', 1), exchange('https://api.example/x', 2));
    const ask = async (replay: typeof fetch) => (await replay('https://api.example/x')).json();
    const strict = replayTraffic(file);
    expect([await ask(strict), await ask(strict)]).toEqual([1, 2]);
    await expect(ask(strict)).rejects.toThrow(/more often than it is recorded in .*2 times/);
    const lenient = replayTraffic(file, { repeat: true });
    expect([await ask(lenient), await ask(lenient), await ask(lenient)]).toEqual([1, 2, 2]);
    lenient.reset();
    expect(await ask(lenient)).toBe(1);
  });

  it('traffic: requests are matched by method and body, regardless of parameter order', async () => {
    const file = writeRecording(
      exchange('https://api.example/x?a=1&b=2', 'got'),
      {
        ...exchange('https://api.example/x?a=1&b=2', 'one', 'POST'),
        request: { method: 'POST', url: 'https://api.example/x?a=1&b=2', headers: {}, json: { n: 1 } },
      },
      {
        ...exchange('https://api.example/x?a=1&b=2', 'two', 'POST'),
        request: { method: 'POST', url: 'https://api.example/x?a=1&b=2', headers: {}, json: { n: 2 } },
      },
    );
    const replay = replayTraffic(file);
    const post = { method: 'POST', body: '{ "n": 2 }' };
    expect(await (await replay('https://api.example/x?b=2&a=1', post)).json()).toBe('two');
    expect(await (await replay('https://api.example/x?b=2&a=1')).json()).toBe('got');
    expect(replay.unused()).toEqual(['POST https://api.example/x?a=1&b=2 {"n":1}']);
  });

  it('traffic: an unexpected request is a permanent error that lists the nearest recorded ones', async () => {
    const file = writeRecording(
      exchange('https://api.example/issues?page=1', []),
      exchange('https://api.example/issues?page=2', []),
      exchange('https://api.example/members', []),
      exchange('https://elsewhere.example/a/long/way/off/and/then/some', []),
    );
    const http = createHttp(memoryContext({ fetch: replayTraffic(file) }), {
      baseUrl: 'https://api.example',
    });
    const refused = http.get('/issues', { query: { page: 3 } });
    await expect(refused).rejects.toThrow(
      /^GET https:\/\/api\.example\/issues\?page=3 is not recorded in .*Nearest matches: GET https:\/\/api\.example\/issues\?page=1 · GET https:\/\/api\.example\/issues\?page=2 · GET https:\/\/api\.example\/members$/,
    );
    await expect(refused).rejects.toMatchObject({ name: 'PermanentError' });
  });

  it('traffic: an invalid file is an error with its line', () => {
    expect(() => replayTraffic(join(folder, 'none.jsonl'))).toThrow(/none\.jsonl cannot be read: ENOENT/);
    const file = newFile();
    writeFileSync(file, `${JSON.stringify(exchange('https://a.example/', 1))}\n{"request":{}}\n`);
    expect(() => replayTraffic(file)).toThrow(/line 2 is not a recorded exchange/);
  });

  it('traffic: binary bodies, empty bodies and large numbers are replayed unchanged', async () => {
    const bodies = [
      Buffer.from([0xff, 0x00, 0xfe]),
      Buffer.alloc(0),
      Buffer.from('{"id":12345678901234567890}'),
    ];
    let n = 0;
    const url = await serve((_request, response) => response.end(bodies[n++]));
    const file = newFile();
    const send = recordTraffic(file);
    for (const _ of bodies)
      await send(`${url}/`, {
        headers: bearer()({ id: '', generation: 1, type: 'api_key', key: 'k' }).headers ?? {},
      });
    const replay = replayTraffic(file);
    for (const body of bodies)
      expect(Buffer.from(await (await replay(`${url}/`)).arrayBuffer())).toEqual(body);
  });
});
