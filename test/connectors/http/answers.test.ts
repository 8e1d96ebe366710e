import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type HttpDescription, http } from '../../../src/connectors/index.ts';
import { connectInMemory } from '../../../src/testing/index.ts';
import { recordingLogger } from '../../support/log.ts';
import { type ApiOptions, type Override, useJsonApis } from '../../support/providers/json-api.ts';
import { describeApi } from './described.ts';

const startApi = useJsonApis();
const credential = { type: 'api_key', key: 'right-token-123' } as const;

async function startConnected(options: ApiOptions, change: Partial<HttpDescription> = {}) {
  const api = await startApi(options);
  api.fill(25);
  const connection = connectInMemory(http({ ...describeApi(api), ...change }), { credential });
  return { api, connection };
}

/** The cursor of the connection's only stream. */
const streamOf = (cursor: unknown) =>
  (cursor as { streams: { items: { of: string; watermark?: string; walk?: object } } }).streams.items;

/** Overrides the response to the n-th request. */
const forRequest = (n: number, override: Override) => (request: number) =>
  request === n ? override : undefined;

describe('http: responses other than pages', () => {
  it.each<[string, Record<string, string>, number]>([
    ['retry-after in seconds', { 'retry-after': '30' }, 30],
    [
      'retry-after as a date',
      { date: 'Wed, 01 Jan 2025 00:00:00 GMT', 'retry-after': 'Wed, 01 Jan 2025 00:00:40 GMT' },
      40,
    ],
    [
      'x-ratelimit-reset as an epoch',
      {
        date: 'Wed, 01 Jan 2025 00:00:00 GMT',
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': '1735689650',
      },
      50,
    ],
    ['ratelimit of the IETF draft', { ratelimit: '"default";r=0;t=70' }, 70],
    ['no header', {}, 60],
  ])('http: a rate limit requeues the job for the requested wait: %s', async (_name, headers, seconds) => {
    const { api, connection } = await startConnected({ pagination: 'cursor' });
    api.before = forRequest(1, { status: 429, headers, body: {} });
    const before = Date.now();
    const run = await connection.run();
    expect(run).toMatchObject({ outcome: 'requeued', error: { kind: 'rate_limited' } });
    const waits = ((run.retryAfter?.getTime() ?? 0) - before) / 1000;
    expect(waits).toBeGreaterThanOrEqual(seconds - 1);
    expect(waits).toBeLessThan(seconds + 30);
  });

  it('http: signals read before a rate limit are kept and the walk continues there', async () => {
    const { api, connection } = await startConnected({ pagination: 'cursor' });
    api.before = forRequest(3, { status: 429, headers: { 'retry-after': '1' } });
    expect(await connection.run()).toMatchObject({ outcome: 'succeeded', hasMore: true });
    expect(connection.signals.length).toBeGreaterThan(0);
    await connection.sync();
    expect(new Set(connection.signals.map(({ dedupeKey }) => dedupeKey)).size).toBe(25);
  });

  it('http: a single server error is retried within the run, repeated ones requeue the job', async () => {
    const { api, connection } = await startConnected({ pagination: 'page' });
    api.before = forRequest(1, { status: 503, body: 'down' });
    expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
    api.before = () => ({ status: 502, body: '<html>' });
    expect(await connection.run()).toMatchObject({ outcome: 'requeued', error: { kind: 'transient' } });
  });

  it('http: a revoked token sets needs_auth and appears in no message', async () => {
    const { connection } = await startConnected({ pagination: 'page', token: 'another-token-456' });
    const run = await connection.run();
    expect(run).toMatchObject({ outcome: 'failed', error: { kind: 'unauthorized' } });
    expect(connection.status).toBe('needs_auth');
    expect(JSON.stringify(run)).not.toContain('right-token');
  });

  it.each<[string, unknown, string, string]>([
    ['unauthorized', { ok: false, error: { code: 'revoked' } }, 'failed', 'unauthorized'],
    ['permanent', { ok: false, error: { code: 'gone' } }, 'failed', 'permanent'],
    ['transient', { ok: false, error: { code: 'busy' } }, 'requeued', 'transient'],
    ['rate_limited', { ok: false, error: { code: 'slow', wait: 90 } }, 'requeued', 'rate_limited'],
  ])('http: error rules classify responses, including status 200: %s', async (_name, body, outcome, kind) => {
    const { api, connection } = await startConnected(
      { pagination: 'page' },
      {
        errors: [
          { path: 'error.code', equals: 'revoked', means: 'unauthorized' },
          { path: 'error.code', in: ['gone', 'deleted'], means: 'permanent' },
          { path: 'error.code', equals: 'busy', means: 'transient' },
          {
            status: 200,
            path: 'error.code',
            equals: 'slow',
            means: 'rate_limited',
            retryAfter: 'error.wait',
          },
        ],
      },
    );
    api.before = () => ({ status: 200, body });
    const run = await connection.run();
    expect(run).toMatchObject({ outcome, error: { kind } });
    if (kind === 'rate_limited') expect(run.error?.message).toMatch(/Retry after 90 s/);
  });

  it('http: a response that means nothing and one without a body are empty pages', async () => {
    const { api, connection } = await startConnected(
      { pagination: 'cursor' },
      { errors: [{ status: 409, means: 'nothing' }] },
    );
    for (const override of [{ status: 409, body: { error: 'empty' } }, { status: 204 }]) {
      api.before = () => override;
      expect(await connection.sync()).toMatchObject([{ outcome: 'succeeded', stored: 0 }]);
    }
    api.before = () => undefined;
    await connection.sync();
    expect(connection.signals).toHaveLength(25);
  });

  it('http: an expired cursor restarts its stream without duplicates', async () => {
    const { api, connection } = await startConnected(
      { pagination: 'cursor' },
      { errors: [{ status: 410, means: 'cursor_expired' }] },
    );
    await connection.sync();
    api.edit(3);
    const at = api.requests.length;
    api.before = (n) => (n === at + 1 ? { status: 410 } : undefined);
    expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
    expect(api.requests[at]).toContain('since=');
    expect(api.requests[at + 1]).not.toContain('since=');
    expect(connection.signals).toHaveLength(26);
  });

  it('http: a cursor that always expires fails instead of restarting forever', async () => {
    const { api, connection } = await startConnected(
      { pagination: 'cursor', sort: 'descending' },
      { errors: [{ status: 410, means: 'cursor_expired' }] },
    );
    api.before = (_n, { searchParams }) => (searchParams.has('after') ? { status: 410 } : undefined);
    const runs = await connection.sync({ maxRuns: 5 });
    expect(runs.at(-1)).toMatchObject({ outcome: 'failed', error: { kind: 'permanent' } });
    expect(api.requests.length).toBeLessThan(10);
  });

  it('http: an expired page token restarts the walk at the watermark, not the stream', async () => {
    const { api, connection } = await startConnected({ pagination: 'cursor', sort: 'none' });
    await connection.sync();
    const { watermark } = streamOf(connection.cursor);
    for (const id of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]) api.edit(id);
    const at = api.requests.length;
    api.before = forRequest(at + 2, { status: 429, headers: { 'retry-after': '1' } });
    await connection.run();
    expect(streamOf(connection.cursor)).toMatchObject({
      watermark,
      walk: { page: { token: expect.any(String) } },
    });
    api.before = forRequest(at + 3, { status: 400, body: { error: 'bad token' } });
    expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
    expect(api.requests[at + 3]).toContain('since=');
    expect(api.requests[at + 3]).not.toContain('after=');
    expect(connection.signals).toHaveLength(38);
  });
});

describe('http: broken paginations', () => {
  const page = (id: number, more: object): Override => ({
    status: 200,
    body: { data: { items: [{ id, status: 'open', updated_at: '2025-01-01T00:00:00Z' }] }, ...more },
  });

  it('http: a next page on another origin is not fetched', async () => {
    for (const next of [
      'https://evil.example/x',
      '//evil.example/x',
      'file:///etc/passwd',
      'http://127.0.0.1:1/',
    ]) {
      const { api, connection } = await startConnected({ pagination: 'next_url', sort: 'none' });
      api.before = () => page(1, { paging: { next } });
      const run = await connection.run();
      expect(run).toMatchObject({ outcome: 'failed', error: { kind: 'permanent' } });
      expect(run.error?.message).toMatch(
        /which is not http:\/\/127\.0\.0\.1:\d+: pages of another origin are not fetched/,
      );
      expect(api.requests).toHaveLength(1);
    }
  });

  it.each<[string, (foreign: string) => object]>([
    ['the page', (url) => ({ page: { url } })],
    ['the page before, which is reread', (url) => ({ page: { page: 2 }, before: { url } })],
  ])('http: a stored page on another origin is not fetched: %s', async (_name, pages) => {
    const foreign = await startApi({ pagination: 'none' });
    const { api, connection } = await startConnected({ pagination: 'next_url', sort: 'none' });
    await connection.sync();
    const { of } = streamOf(connection.cursor);
    const walk = { startedAt: '2025-01-01T00:00:00Z', ...pages(`${foreign.url}/v1/items`) };
    const rewound = connectInMemory(http(describeApi(api)), {
      cursor: { streams: { items: { of, walk } } },
    });
    expect((await rewound.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
    expect(foreign.requests).toEqual([]);
    expect(rewound.signals).toHaveLength(25);
  });

  it.each([1, 2, 3, 7])('http: a cycle of %i pages ends with an error', async (length) => {
    const { api, connection } = await startConnected({ pagination: 'cursor', sort: 'none' });
    api.before = (n) => page(n, { meta: { next: `token-${n % length}`, has_more: true } });
    const runs = await connection.sync({ maxRuns: 20 });
    expect(runs.at(-1)?.error?.message).toMatch(/pagination is circular/);
    expect(api.requests.length).toBeLessThan(60);
  });

  it('http: a page that always fails ends the walk, also if each run reads only one page', async () => {
    const { api, connection } = await startConnected({ pagination: 'cursor', sort: 'none' });
    const items = Array.from({ length: 1000 }, (_, i) => i);
    api.before = (n) => {
      if (n % 3 === 0) return { status: 400, body: { error: 'too far' } };
      const records = items.map((i) => ({
        id: n * 1000 + i,
        status: 'open',
        updated_at: '2025-01-01T00:00:00Z',
      }));
      return {
        status: 200,
        body: { data: { items: records }, meta: { next: `token-${n}`, has_more: true } },
      };
    };
    const runs = await connection.sync({ maxRuns: 20 });
    expect(runs.at(-1)?.error?.message).toMatch(/too far/);
    expect(api.requests).toHaveLength(6);
  });

  it('http: skips empty pages up to a limit', async () => {
    const { api, connection } = await startConnected({ pagination: 'cursor', sort: 'none' });
    const empty = (n: number): Override => ({
      status: 200,
      body: { data: { items: [] }, meta: { next: `t${n}`, has_more: true } },
    });
    api.before = (n) => (n < 60 ? empty(n) : page(n, { meta: { next: null, has_more: false } }));
    await connection.sync();
    expect(connection.signals).toHaveLength(1);
    api.before = empty;
    expect((await connection.sync()).at(-1)?.error?.message).toMatch(/100 pages in a row have no records/);
  });

  it('http: detects a provider that ignores the page parameter', async () => {
    for (const pagination of ['page', 'offset'] as const) {
      const { api, connection } = await startConnected({ pagination, sort: 'none' });
      api.before = () => page(1, {});
      expect((await connection.sync({ maxRuns: 20 })).at(-1)?.error?.message).toMatch(
        /keeps sending the same records/,
      );
      expect(api.requests.length).toBeLessThan(20);
    }
  });

  it('http: a list that is not sorted as described is an error', async () => {
    for (const [described, actual] of [
      ['ascending', 'descending'],
      ['descending', 'ascending'],
      ['ascending', 'none'],
    ] as const) {
      const { api, connection } = await startConnected({ pagination: 'page', sort: described });
      api.options.sort = actual;
      expect((await connection.run()).error?.message).toMatch(
        new RegExp(
          `items is not sorted by updated_at, ${described}: .* comes after .* or set cursor.order: none`,
        ),
      );
      expect(connection.signals).toHaveLength(0);
    }
  });

  it('http: a missing hasMore flag is an error, because false would end every walk', async () => {
    const { api, connection } = await startConnected({ pagination: 'cursor' });
    api.before = () => page(1, { meta: { next: 'x' } });
    expect((await connection.run()).error?.message).toMatch(
      /no meta\.has_more, which tells whether there are more pages/,
    );
  });

  it('http: errors name the record whose key or time is missing, or the missing list', async () => {
    const { api, connection } = await startConnected({ pagination: 'page' });
    const items = (records: unknown): Override => ({ status: 200, body: { data: { items: records } } });
    for (const [override, message] of [
      [
        items([{ id: 1, updated_at: '2025-01-01T00:00:00Z' }, { updated_at: '2025-01-01T00:00:01Z' }]),
        'items, record 2 of the page has no id, which is part of its key: it is missing.',
      ],
      [items([{ id: 1 }]), 'items, record 1 of the page has no time: updated_at is missing.'],
      [
        items([{ id: 1, updated_at: 'soon' }]),
        'items, record 1 of the page: updated_at is "soon", which is not in the format iso.',
      ],
      [items({ a: 1 }), 'items: The answer\'s data.items is {"a":1}; it must be a list of records.'],
      [
        { status: 200, body: { other: 1 } },
        "items: The answer's data.items is missing; it must be a list of records.",
      ],
    ] as const) {
      api.before = () => override;
      expect((await connection.run()).error?.message).toBe(message);
    }
    api.before = () => items(null);
    expect(await connection.run()).toMatchObject({ outcome: 'succeeded' });
  });

  it('http: any JSON response is a page or a connector error', async () => {
    const connectors = (['cursor', 'next_url', 'page', 'offset', 'none'] as const).map((pagination) =>
      http(describeApi({ url: 'http://127.0.0.1:1', options: { pagination, sort: 'none' } } as never)),
    );
    const keys = fc.constantFrom(
      'data',
      'items',
      'id',
      'updated_at',
      'meta',
      'next',
      'has_more',
      'paging',
      'deleted',
      'status',
      '__proto__',
      'constructor',
    );
    const { json } = fc.letrec((tie) => ({
      json: fc.oneof(
        { depthSize: 'small' },
        fc.string(),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        fc.constantFrom('2025-01-01T00:00:00Z', 1_700_000_000, -1e300, 'a\u0000\ud800'),
        fc.array(tie('json'), { maxLength: 4 }),
        fc.dictionary(keys, tie('json'), { maxKeys: 5 }),
      ),
    }));
    const record = fc
      .dictionary(keys, json, { maxKeys: 4 })
      .map((fields) => ({ id: 1, updated_at: '2025-01-01T00:00:00Z', ...fields }));
    const body = fc.oneof(
      json,
      fc
        .tuple(fc.array(record, { maxLength: 3 }), json, json)
        .map(([items, meta, paging]) => ({ data: { items }, meta, paging })),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...connectors), body, async (connector, answer) => {
        const connection = connectInMemory(connector, {
          fetch: (async () => new Response(JSON.stringify(answer))) as typeof fetch,
        });
        const run = await connection.run();
        if (run.outcome !== 'succeeded') expect(run.error?.name).toMatch(/^(Permanent|Transient)Error$/);
      }),
      { numRuns: 300 },
    );
  });
});

describe('http: hostile values', () => {
  const described = (url: string): HttpDescription => ({
    provider: 'tracker',
    baseUrl: `${url}/v1`,
    auth: { type: 'query', query: 'api_key' },
    config: { project: 'string', label: { type: 'string', optional: true } },
    streams: {
      items: {
        request: {
          path: '/items/{config.project}/all',
          query: { label: '{config.label}', fixed: 1 },
          headers: { 'x-label': '{config.label}' },
        },
        records: 'data.items',
        signal: { kind: 'item.{status}', occurredAt: 'updated_at', key: 'id' },
      },
    },
  });
  const empty: Override = { status: 200, body: { data: { items: [] } } };

  it.each([
    'a/b',
    'a?b=1',
    'a#b',
    '../../admin',
    '%2e%2e',
    'a b',
    '{config.label}',
    '{{x}}',
    '\\..\\',
    'ü/ö',
    '\ud800',
    'a&b=2',
    '//evil.example',
    'x\ny',
  ])('http: a config value cannot leave its path segment or query parameter: %j', async (value) => {
    const api = await startApi({ pagination: 'none' });
    api.before = () => empty;
    const description = described(api.url);
    delete description.streams['items']?.request.headers;
    const connection = connectInMemory(http(description), {
      credential,
      config: { project: value, label: value },
    });
    expect((await connection.sync()).at(-1)).toMatchObject({ outcome: 'succeeded' });
    const requested = new URL(api.requests[0] ?? '', api.url);
    const wellFormed = Buffer.from(value).toString();
    expect(requested.pathname.split('/').map(decodeURIComponent)).toEqual([
      '',
      'v1',
      'items',
      wellFormed,
      'all',
    ]);
    expect([...requested.searchParams]).toEqual([
      ['label', wellFormed],
      ['fixed', '1'],
      ['api_key', credential.key],
    ]);
  });

  it.each(['', '.', '..'])(
    'http: a config value that would change the path is rejected: %j',
    async (value) => {
      const api = await startApi({ pagination: 'none' });
      const run = await connectInMemory(http(described(api.url)), {
        credential,
        config: { project: value },
      }).run();
      expect(run.error?.message).toBe(
        `"${value}" is not allowed for {config.project} in the path /items/{config.project}/all.`,
      );
      expect(api.requests).toEqual([]);
    },
  );

  it('http: a value cannot inject headers, and a missing value omits its parameter', async () => {
    const api = await startApi({ pagination: 'none' });
    api.before = () => empty;
    const run = (label?: string) =>
      connectInMemory(http(described(api.url)), {
        credential,
        config: { project: 'p', ...(label !== undefined && { label }) },
      }).run();
    expect((await run('a\r\nx-admin: 1')).error?.message).toBe(
      "The header x-label cannot contain the connection's value of {config.label}.",
    );
    expect(await run()).toMatchObject({ outcome: 'succeeded' });
    expect(api.requests).toEqual(['/v1/items/p/all?fixed=1&api_key=right-token-123']);
  });

  it('http: config is validated against the description', async () => {
    const api = await startApi({ pagination: 'none' });
    api.before = () => empty;
    const description = described(api.url);
    description.config = {
      project: { type: 'string', pattern: '[A-Z]+', description: 'key of the project' },
    };
    delete description.streams['items']?.request.headers;
    delete description.streams['items']?.request.query;
    const run = (config: object) => connectInMemory(http(description), { credential, config }).run();
    expect((await run({ project: 'ABC\n' })).error?.message).toMatch(
      /config\.project must match \[A-Z\]\+ \(key of the project\)/,
    );
    expect((await run({})).error?.message).toMatch(/config\.project must be a string \(key of the project\)/);
    expect(await run({ project: 'ABC', more: 1 })).toMatchObject({ outcome: 'succeeded' });
  });

  it('http: a host from config must be a valid public host', async () => {
    const run = (baseUrl: string, site: string, network?: 'any') =>
      connectInMemory(
        http({
          ...described('http://x'),
          baseUrl,
          config: { site: 'string', project: 'string', label: { type: 'string', optional: true } },
          ...(network && { network }),
        }),
        {
          credential,
          config: { site, project: 'p' },
        },
      ).run();
    for (const site of ['evil.example/', 'a.b', 'a@evil', 'a:80', 'a?', '', 'a#', 'ä'])
      expect((await run('https://{config.site}.tracker.example', site)).error?.message).toMatch(
        /is not allowed for \{config\.site\}/,
      );
    for (const site of ['a@evil', 'a/b', 'a:80'])
      expect((await run('https://{config.site}', site)).error?.message).toMatch(/it must be a host/);
    expect((await run('https://{config.site}', '127.0.0.1')).error?.message).toMatch(
      /not a public internet address/,
    );
    expect((await run('{config.site}', 'http://10.0.0.1/')).error?.message).toMatch(/is not https/);
    expect((await run('{config.site}', 'https://user:pw@x.example')).error?.message).toMatch(
      /is not a URL with/,
    );
    const api = await startApi({ pagination: 'none' });
    api.before = () => empty;
    expect(await run('{config.site}', api.url, 'any')).toMatchObject({ outcome: 'succeeded' });
  });

  it('http: records cannot reach prototypes, and their text is not expanded as a template', async () => {
    const api = await startApi({ pagination: 'none' });
    const records =
      '[{"id":1,"status":"{config.project}","updated_at":"2025-01-01T00:00:00Z","__proto__":{"polluted":1},"constructor":{"name":"x"}},{"id":2,"status":"s","updated_at":"2025-01-01T00:00:00Z"}]';
    api.before = () => ({ status: 200, body: `{"data":{"items":${records}}}` });
    const description = described(api.url);
    const { items } = description.streams;
    if (items)
      items.signal = {
        ...items.signal,
        payload: {
          status: 'status',
          proto: '__proto__',
          name: 'constructor.name',
          method: 'toString',
          length: 'status.length',
        },
      };
    const connection = connectInMemory(http(description), { credential, config: { project: 'p' } });
    await connection.sync();
    expect(connection.signals).toMatchObject([
      {
        kind: 'item.{config.project}',
        payload: { status: '{config.project}', proto: { polluted: 1 }, name: 'x' },
      },
      { payload: { status: 's' } },
    ]);
    expect(Object.keys(connection.signals[1]?.payload as object)).toEqual(['status']);
    expect(Object.keys(connection.signals[0]?.payload as object)).not.toContain('method');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('http: a key in the query is neither logged nor in the cursor, even if echoed', async () => {
    const api = await startApi({ pagination: 'none' });
    const description = described(api.url);
    if (description.streams['items'])
      description.streams['items'].pagination = { type: 'next_url', path: 'next' };
    const item = (id: number) => ({ id, status: 's', updated_at: '2025-01-01T00:00:00Z' });
    api.before = (n) =>
      n === 2
        ? { status: 500, body: `bad ${credential.key}` }
        : {
            status: 200,
            body: {
              data: { items: [item(n)] },
              next: n === 1 ? `${api.url}/v1/more?api_key=${credential.key}&p=x` : null,
            },
          };
    const { log, lines } = recordingLogger('debug');
    const connection = connectInMemory(http(description), { credential, config: { project: 'p' }, log });
    await connection.run();
    expect(connection.signals).toHaveLength(2);
    expect(api.requests[1]).toBe(`/v1/more?p=x&api_key=${credential.key}`);
    expect(JSON.stringify([lines, connection.cursor])).not.toContain(credential.key);
  });
});

describe('http: records become signals', () => {
  it('http: kinds, times, keys, payloads and skipped records follow the description', async () => {
    const api = await startApi({ pagination: 'none' });
    const records = [
      { id: 1, type: 'created', at: 1_735_689_600, 'a.b': { c: ['x', 'y'] } },
      { id: 1, type: 'closed', at: '2025-01-01T01:00:00+01:00' },
      { id: 2, type: 'odd', at: '2025-01-01 00:00:00' },
      { id: 3, type: 'created', at: '2025-01-01', gone: true },
      { id: 4, type: 'created', at: '2025-01-01', bot: 'yes' },
      { id: 5, type: 'toString', at: null, made: '2025-01-01T00:00:00.000+0000' },
    ];
    api.before = () => ({ status: 200, body: records });
    const connection = connectInMemory(
      http({
        provider: 'tracker',
        baseUrl: api.url,
        auth: { type: 'none' },
        streams: {
          events: {
            request: { path: '/' },
            signal: {
              kind: {
                path: 'type',
                map: { created: 'issue.opened', closed: 'issue.closed' },
                default: 'issue.changed',
              },
              occurredAt: ['at', 'made'],
              key: ['id', 'type'],
              immutable: true,
              payload: { id: 'id', last: 'a\\.b.c[-1]', first: 'a\\.b.c[0]' },
              skipWhen: [
                { path: 'bot', in: ['yes', true] },
                { path: 'gone', exists: true },
              ],
            },
          },
        },
      }),
    );
    await connection.sync();
    expect(connection.signals).toEqual([
      {
        kind: 'issue.opened',
        occurredAt: '2025-01-01T00:00:00.000Z',
        payload: { id: 1, last: 'y', first: 'x' },
        dedupeKey: 'events/1/created',
      },
      {
        kind: 'issue.closed',
        occurredAt: '2025-01-01T00:00:00.000Z',
        payload: { id: 1 },
        dedupeKey: 'events/1/closed',
      },
      {
        kind: 'issue.changed',
        occurredAt: '2025-01-01T00:00:00.000Z',
        payload: { id: 2 },
        dedupeKey: 'events/2/odd',
      },
      {
        kind: 'issue.changed',
        occurredAt: '2025-01-01T00:00:00.000Z',
        payload: { id: 5 },
        dedupeKey: 'events/5/toString',
      },
    ]);
  });

  it('http: a change within one second is a new version unless a version is described', async () => {
    for (const [version, stored] of [
      [undefined, 2],
      ['updated_at', 1],
    ] as const) {
      const api = await startApi({ pagination: 'none' });
      api.fill(1);
      const description = describeApi(api);
      if (version) Object.assign(description.streams['items']?.signal ?? {}, { version });
      const connection = connectInMemory(http(description));
      await connection.sync();
      Object.assign(api.items[0] ?? {}, { title: 'another' });
      await connection.sync();
      expect(connection.signals).toHaveLength(stored);
    }
  });
});
