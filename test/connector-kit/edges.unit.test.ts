import { describe, expect, it } from 'vitest';
import {
  bearer,
  CursorExpiredError,
  createHttp,
  nextLink,
  syncStreams,
} from '../../src/connector-kit/index.ts';
import { isPublicAddress } from '../../src/connector-kit/network.ts';
import { memoryContext } from '../../src/testing/index.ts';

describe('kit: edges', () => {
  it('kit: nextLink ignores a next page with results="false"', () => {
    const link = (text: string) => nextLink(new Headers({ link: text }));
    expect(link('<https://x.example/?c=1>; rel="next"; results="true"; cursor="1"')).toBe(
      'https://x.example/?c=1',
    );
    expect(
      link(
        '<https://x.example/?c=0>; rel="previous"; results="true", <https://x.example/?c=1>; rel="next"; results="false"',
      ),
    ).toBeUndefined();
    expect(link('<https://x.example/?results=false>; rel=next')).toBe('https://x.example/?results=false');
  });

  it('kit: a colon in the first path segment is not parsed as a URL scheme', async () => {
    const requests: string[] = [];
    const fetch = (async (url: string) => {
      requests.push(url);
      return new Response('{}');
    }) as unknown as typeof globalThis.fetch;
    await createHttp(memoryContext({ fetch }), { baseUrl: 'https://x.example/v1' }).get('/things:search');
    expect(requests).toEqual(['https://x.example/v1/things:search']);
  });

  it('kit: nextLink parses a Link header of 500,000 opening brackets in linear time', () => {
    const headers = { get: () => '<'.repeat(500_000) } as unknown as Headers;
    expect(nextLink(headers)).toBeUndefined();
  });

  it('kit: a redirect to another origin drops the credential and custom headers', async () => {
    const requests: [string, Headers][] = [];
    const fetch = (async (url: string, { headers }: RequestInit) => {
      requests.push([url, new Headers(headers)]);
      const location = 'https://y.example/elsewhere';
      return requests.length === 1
        ? new Response(null, { status: 302, headers: { location } })
        : new Response('{}');
    }) as unknown as typeof globalThis.fetch;
    const context = memoryContext({ fetch, credential: { type: 'api_key', key: 'the-key' } });
    const http = createHttp(context, {
      baseUrl: 'https://x.example',
      authorize: bearer(),
      headers: { accept: 'application/json', 'x-app-key': 'of the app' },
    });
    await http.get('/', { headers: { 'x-own': 'of this request' } });
    const [first, second] = requests.map(([, headers]) => Object.fromEntries(headers));
    expect(first).toMatchObject({ authorization: 'Bearer the-key', 'x-app-key': 'of the app' });
    expect(second).toEqual({ accept: 'application/json', 'user-agent': 'syncline' });
  });

  it.each([
    '127.0.0.1',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:0:7f00:1',
    '64:ff9b::a00:1',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
    '2001:db8::1',
    'fd00::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '1::1',
  ])('kit: %s is not a public address', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each(['8.8.8.8', '2606:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808', '2002:808:808::'])(
    'kit: %s is a public address',
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );

  it('kit: a stream whose cursors always expire restarts once per run and blocks no other', async () => {
    let starts = 0;
    const result = await syncStreams(
      memoryContext() as never,
      ['expiring', 'calm'],
      async (name, cursor: number | undefined) => {
        if (name === 'calm') return { signals: [], nextCursor: 1 };
        if (cursor !== undefined) throw new CursorExpiredError();
        starts++;
        return { signals: [], nextCursor: 1, hasMore: true };
      },
    );
    expect(starts).toBe(2);
    expect(result).toMatchObject({ nextCursor: { streams: { calm: 1 } } });
    expect(result.hasMore).toBeUndefined();
  });
});
