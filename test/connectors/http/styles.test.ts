import { describe, expect, it } from 'vitest';
import { type HttpDescription, http } from '../../../src/connectors/index.ts';
import { connectInMemory, crashTest } from '../../../src/testing/index.ts';
import { type JsonApi, useJsonApis } from '../../support/providers/json-api.ts';
import { sized } from '../../support/size.ts';
import { describeApi } from './described.ts';

const startApi = useJsonApis();
type Stream = HttpDescription['streams'][string];

/** Serves records with ascending ids after `after`, four per page. */
function serveFeed(api: JsonApi, count: () => number, idOf: (n: number) => string | number): void {
  api.before = (_n, { searchParams }) => {
    const after = searchParams.get('after');
    const all = Array.from({ length: count() }, (_, i) => ({ id: idOf(i), at: 1_735_689_600 + i }));
    const start =
      after === null
        ? 0
        : all.findIndex(({ id }) => (typeof id === 'number' ? id > Number(after) : id > after));
    return {
      status: 200,
      body: { things: start === -1 ? [] : all.slice(start, start + 4), pages: Math.ceil(count() / 4) },
    };
  };
}

const feed = (url: string, change: Partial<Stream>): HttpDescription => ({
  provider: 'feed',
  baseUrl: url,
  auth: { type: 'none' },
  streams: {
    things: {
      request: { path: '/things' },
      records: 'things',
      signal: { kind: 'thing', key: 'id', occurredAt: 'at', immutable: true },
      ...change,
    },
  },
});

describe('http: list styles', () => {
  it.each<[string, (n: number) => string | number, 'number' | 'text']>([
    ['numbers', (n) => n * 10, 'number'],
    ['sortable text', (n) => `id-${String(n).padStart(4, '0')}`, 'text'],
  ])('http: reads a feed from the last id: %s', async (_name, idOf, format) => {
    const api = await startApi({ pagination: 'none' });
    let count = 10;
    serveFeed(api, () => count, idOf);
    const connector = http(
      feed(api.url, {
        // The page number never advances: each query starts after the last record.
        pagination: { type: 'page', parameter: 'page', size: { parameter: 'n', value: 4 } },
        cursor: { path: 'id', order: 'ascending', parameter: 'after', inclusive: false, format },
      }),
    );
    const connection = connectInMemory(connector);
    await connection.sync();
    expect(connection.signals).toHaveLength(10);
    count = 23;
    await connection.sync();
    await connection.sync();
    expect(connection.signals.map(({ dedupeKey }) => dedupeKey)).toEqual(
      Array.from({ length: 23 }, (_, i) => `things/${idOf(i)}`),
    );
    expect((await crashTest(connector, { secondCrashes: sized(20, 3) })).signals).toBe(23);
  });

  it('http: supports zero-based pages and a total page count', async () => {
    const api = await startApi({ pagination: 'none' });
    api.before = (_n, { searchParams }) => {
      const page = Number(searchParams.get('p'));
      return page > 2
        ? { status: 404, body: {} }
        : { status: 200, body: { things: [{ id: page, at: 1_735_689_600 }], meta: { pages: 3 } } };
    };
    const connection = connectInMemory(
      http(
        feed(api.url, { pagination: { type: 'page', parameter: 'p', start: 0, totalPages: 'meta.pages' } }),
      ),
    );
    expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
    expect(connection.signals.map(({ dedupeKey }) => dedupeKey)).toEqual([
      'things/0',
      'things/1',
      'things/2',
    ]);
  });

  it('http: a total or a last-page flag saves the request for an empty page', async () => {
    for (const [pagination, change] of [
      ['offset', { type: 'offset', parameter: 'offset', total: 'total' }],
      ['page', { type: 'page', parameter: 'page', isLast: 'last' }],
    ] as const) {
      const api = await startApi({ pagination, sort: 'none' });
      api.fill(20);
      if (pagination === 'page')
        api.before = (_n, { searchParams }) => {
          const page = Number(searchParams.get('page'));
          return {
            status: 200,
            body: { data: { items: api.items.slice((page - 1) * 10, page * 10) }, last: page === 2 },
          };
        };
      const connection = connectInMemory(http(describeApi(api, { pagination: change })));
      await connection.sync();
      expect(connection.signals).toHaveLength(20);
      // Two pages, then the first again.
      expect(api.requests).toHaveLength(3);
    }
  });

  it('http: a missing total is an error', async () => {
    const api = await startApi({ pagination: 'offset', sort: 'none' });
    api.fill(20);
    const connection = connectInMemory(
      http(describeApi(api, { pagination: { type: 'offset', parameter: 'offset', total: 'totl' } })),
    );
    expect((await connection.run()).error?.message).toMatch(/no number at totl, which is the total/);
  });

  it('http: a missing list is accepted only if records is optional', async () => {
    const api = await startApi({ pagination: 'none' });
    api.before = () => ({ status: 200, body: {} });
    const run = (records: Stream['records']) => connectInMemory(http(feed(api.url, { records }))).run();
    expect(await run({ path: 'things', optional: true })).toMatchObject({ outcome: 'succeeded' });
    expect(await run('things')).toMatchObject({ outcome: 'failed' });
  });

  it('http: each auth type sends the credential in its place', async () => {
    const seen: unknown[] = [];
    const fetch = (async (url: string, { headers }: { headers: Record<string, string> }) => {
      seen.push([new URL(url).search, headers['authorization'], headers['x-key']]);
      return new Response('{"things":[]}');
    }) as unknown as typeof globalThis.fetch;
    const key = { type: 'api_key', key: 'the-key' } as const;
    const named = { type: 'basic', username: 'ann', password: 'secret' } as const;
    const run = (auth: HttpDescription['auth'], credential?: typeof key | typeof named) =>
      connectInMemory(http({ ...feed('https://x.example', {}), auth }), {
        fetch,
        ...(credential && { credential }),
      }).run();
    await run({ type: 'bearer' }, key);
    await run({ type: 'bearer', prefix: 'Token' }, key);
    await run({ type: 'basic' }, named);
    await run({ type: 'header', header: 'X-Key', prefix: 'v1 ' }, key);
    await run({ type: 'query', query: 'k' }, key);
    await run({ type: 'none' }, key);
    await run({ type: 'bearer', optional: true });
    expect(seen).toEqual([
      ['', 'Bearer the-key', undefined],
      ['', 'Token the-key', undefined],
      ['', `Basic ${Buffer.from('ann:secret').toString('base64')}`, undefined],
      ['', undefined, 'v1 the-key'],
      ['?k=the-key', undefined, undefined],
      ['', undefined, undefined],
      ['', undefined, undefined],
    ]);
    expect((await run({ type: 'bearer' })).error?.kind).toBe('unauthorized');
    expect((await run({ type: 'basic' }, key)).error?.message).toMatch(
      /has type api_key; this provider needs user and password/,
    );
  });

  it('http: streams are read in order, and a forbidden stream does not block the others', async () => {
    const api = await startApi({ pagination: 'none' });
    api.before = (_n, { pathname }) =>
      pathname === '/secret'
        ? { status: 403, body: { error: 'no' } }
        : { status: 200, body: { things: [{ id: pathname, at: 1_735_689_600 }] } };
    const description = feed(api.url, {});
    const { things } = description.streams;
    if (!things) throw new Error('not described');
    description.streams = {
      one: things,
      secret: { ...things, request: { path: '/secret' } },
      two: { ...things, request: { path: '/two' } },
    };
    const connection = connectInMemory(http(description));
    expect(await connection.sync()).toMatchObject([{ outcome: 'succeeded', stored: 2 }]);
    description.streams = { secret: { ...things, request: { path: '/secret' } } };
    expect((await connectInMemory(http(description)).run()).error).toMatchObject({ kind: 'permanent' });
  });

  it('http: {now} is constant for all pages of a walk', async () => {
    const api = await startApi({ pagination: 'none' });
    api.before = (n) => ({
      status: 200,
      body: { things: [{ id: n, at: 1_735_689_600 }], next: n < 3 ? `t${n}` : null },
    });
    const connection = connectInMemory(
      http(
        feed(api.url, {
          request: {
            path: '/things',
            query: { until: '{now.epoch_ms}', day: '{now.date}', by: '{externalId}' },
          },
          pagination: { type: 'cursor', path: 'next', parameter: 'after' },
        }),
      ),
      { externalId: 'acct 1' },
    );
    await connection.sync();
    const queries = api.requests.map((request) => new URL(request, api.url).searchParams);
    expect(new Set(queries.map((parameters) => parameters.get('until'))).size).toBe(1);
    expect(queries[0]?.get('day')).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(queries.map((parameters) => [parameters.get('by'), parameters.get('after')])).toEqual([
      ['acct 1', null],
      ['acct 1', 't1'],
      ['acct 1', 't2'],
    ]);
  });

  it('http: environment values are not expanded as templates', async () => {
    const seen: unknown[] = [];
    const fetch = (async (url: string, { headers }: { headers: Record<string, string> }) => {
      seen.push(url, headers['x-app']);
      return new Response('{"things":[]}');
    }) as unknown as typeof globalThis.fetch;
    const description = { ...feed(`\${env.BASE}`, {}), headers: { 'X-App': `key \${env.APP_KEY}` } };
    await connectInMemory(
      http(description, { env: { BASE: 'https://x.example/v2', APP_KEY: 'a{config.b}{{c}}' } }),
      { fetch },
    ).run();
    expect(seen).toEqual(['https://x.example/v2/things', 'key a{config.b}{{c}}']);
  });
});
