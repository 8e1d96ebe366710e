import { gzipSync } from 'node:zlib';
import { fine, firstOf, get, type HttpCase, invalid, notFound, providerNotFound, send } from './http-case.ts';
import { nestedText } from './odd-values.ts';

const notJson = /The body is not valid JSON/;
const notUtf8 = /The body is not valid UTF-8/;
const pauseWith = (body: unknown, headers: Record<string, string> = {}): HttpCase['build'] => {
  return ({ own }) => send('POST', `/v1/connections/${firstOf(own, 'connections')}/pause`, body, headers);
};
const createWith = (fields: object): HttpCase['build'] => {
  return ({ own }) =>
    send('POST', '/v1/connections', { tenant_id: own.tenantId, provider: 'steady', ...fields });
};
const refusedBody = (name: string, body: string | Buffer, pattern: RegExp, field?: string): HttpCase => ({
  name: `a body that is ${name}`,
  build: pauseWith(body),
  expected: invalid(pattern, field),
});
const refusedField = (name: string, fields: object, pattern: RegExp): HttpCase => ({
  name: `a connection with ${name}`,
  build: createWith(fields),
  expected: invalid(pattern, Object.keys(fields)[0]),
});
const created = (body: RegExp) => ({ status: 201, body });

export const bodyCases: readonly HttpCase[] = [
  refusedBody('truncated', '{"reason":"x', notJson),
  refusedBody('two values', '{}{}', notJson),
  refusedBody('JavaScript', '{reason:1}', notJson),
  refusedBody('NaN', '{"reason":NaN}', notJson),
  refusedBody('overlong UTF-8', Buffer.from('{"reason":"\xc0\xaf"}', 'latin1'), notUtf8),
  refusedBody('a surrogate in UTF-8', Buffer.from('{"reason":"\xed\xa0\x80"}', 'latin1'), notUtf8),
  refusedBody('UTF-16', Buffer.from('\ufeff{"reason":"x"}', 'utf16le'), notUtf8),
  refusedBody('compressed', gzipSync('{}'), notUtf8),
  refusedBody('a gzip bomb of 10 MB', gzipSync(Buffer.alloc(10_000_000)), notUtf8),
  refusedBody(
    'an object with an escaped lone surrogate',
    '{"reason":"\\ud800"}',
    /reason contains half/,
    'reason',
  ),
  refusedBody(
    'an object with an escaped NUL',
    '{"reason":"a\\u0000b"}',
    /reason contains a NUL character/,
    'reason',
  ),
  refusedBody('an object with NUL in a key', '{"a\\u0000b":1}', /contains a NUL character/),
  refusedBody('nested 101 levels', `{"reason":${nestedText(101)}}`, /nested deeper than 100 levels/),
  refusedBody('nested 100,000 levels', `{"reason":${nestedText(100_000)}}`, /nested deeper than 100 levels/),
  refusedBody('nested 500,000 levels and not closed', '['.repeat(500_000), notJson),
  refusedBody(
    'an object with a number beyond a double',
    '{"reason":1e400}',
    /reason is a number that is too large/,
    'reason',
  ),
  refusedBody('null', 'null', /body must be an object/i),
  refusedBody('a list', '[]', /body must be an object/i),
  refusedBody('text', '"reason"', /body must be an object/i),
  refusedBody('an object with an unknown field', '{"raeson":"x"}', /Did you mean reason/, 'raeson'),
  refusedBody(
    'an object with a field named constructor',
    '{"constructor":{"prototype":{}}}',
    /is unknown/,
    'constructor',
  ),
  refusedBody(
    'an object with a field named __proto__',
    '{"__proto__":{"reason":"x"}}',
    /is unknown/,
    '__proto__',
  ),
  {
    name: 'a body with a byte order mark',
    build: pauseWith('\ufeff{"reason":"x"}'),
    expected: fine(/"status":"paused"/),
    changes: true,
  },
  {
    name: 'a reason with header and HTML injection',
    build: pauseWith({ reason: 'x\r\nset-cookie: a=b\r\n\r\n<script>alert(1)</script>' }),
    expected: fine(/"status":"paused"/),
    changes: true,
  },
  ...[
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'nonsense',
  ].map(
    (type): HttpCase => ({
      name: `JSON with content type ${type}`,
      build: (world) => ({ ...createWith({})(world), headers: { 'content-type': type } }),
      expected: { status: 415, code: 'INVALID_ARGUMENT', body: /must be JSON/ },
    }),
  ),
  {
    name: 'a body over 1 MB',
    build: pauseWith(JSON.stringify({ reason: 'x'.repeat(1024 * 1024) }), { connection: 'close' }),
    expected: { status: 413, code: 'TOO_LARGE' },
  },
  {
    name: 'a chunked body of 2 MB without a length',
    build: pauseWith('x'.repeat(2_000_000), { 'transfer-encoding': 'chunked', connection: 'close' }),
    expected: { status: 413, code: 'TOO_LARGE' },
  },
  {
    name: 'a body on a GET request',
    build: () => ({ ...get('/v1/me'), body: '{"a":1}', headers: { 'content-type': 'application/json' } }),
    expected: fine(),
  },
  ...[-1, 59, 60.5, 1e308, 2 ** 53, -0, '300', null, [300], { seconds: 300 }, true].map(
    (interval): HttpCase => ({
      name: `a connection with an interval of ${Object.is(interval, -0) ? '-0' : JSON.stringify(interval)}`,
      build: createWith({ interval_seconds: interval }),
      expected: invalid(/interval_?seconds/i),
    }),
  ),
  refusedField('an invalid tenant', { tenant_id: 'x' }, /tenant_id must be a UUID/),
  refusedField('a tenant in a list', { tenant_id: ['0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f'] }, /tenant_id/),
  refusedField('a blank provider', { provider: ' \t\n' }, /provider must be text/),
  refusedField('a name of 501 characters', { external_id: 'x'.repeat(501) }, /external_id must be text/),
  refusedField('a config that is a list', { config: [] }, /config must be an object/),
  refusedField('a config that is text', { config: '{}' }, /config must be an object/),
  refusedField('a config of 65 KB', { config: { text: 'x'.repeat(65 * 1024) } }, /at most 65536 bytes/),
  refusedField('metadata of 65 KB', { metadata: { text: 'x'.repeat(65 * 1024) } }, /at most 65536 bytes/),
  {
    name: 'a connection with provider __proto__',
    build: createWith({ provider: '__proto__' }),
    expected: providerNotFound,
  },
  {
    name: 'a connection for another tenant',
    build: ({ foreign }) =>
      send('POST', '/v1/connections', { tenant_id: foreign.tenantId, provider: 'steady' }),
    expected: notFound,
  },
  {
    name: 'a connection with a credential of another tenant',
    build: (world) => createWith({ credential_id: firstOf(world.foreign, 'credentials') })(world),
    expected: notFound,
  },
  {
    name: 'a name with SQL, HTML and a bidirectional override is returned unchanged',
    build: createWith({ external_id: `'; DROP TABLE x; --<img src=x onerror=alert(1)>\u202e` }),
    expected: created(/'; DROP TABLE x; --<img src=x onerror=alert\(1\)>\u202e/),
    changes: true,
  },
  {
    name: 'a config with Object property names',
    build: ({ own }) =>
      send(
        'POST',
        '/v1/connections',
        `{"tenant_id":"${own.tenantId}","provider":"steady","config":{"constructor":{"prototype":{"polluted":true}},"toString":1}}`,
      ),
    expected: created(/"config":\{.*"toString": 1/),
    changes: true,
  },
  {
    name: 'metadata whose sync is not an object',
    build: createWith({ metadata: { sync: 42 } }),
    expected: created(/"invalid_metadata":\[\]/),
    changes: true,
  },
  ...[32_768, -32_769, 1.5, '10', 1e308].map(
    (priority): HttpCase => ({
      name: `a trigger with a priority of ${JSON.stringify(priority)}`,
      build: ({ own }) =>
        send('POST', `/v1/connections/${firstOf(own, 'connections')}/trigger`, { priority }),
      expected: invalid(/priority/, 'priority'),
    }),
  ),
  {
    name: 'a cursor with __proto__ is stored unchanged',
    build: ({ own }) =>
      send(
        'POST',
        `/v1/connections/${firstOf(own, 'connections')}/rewind`,
        '{"cursor":{"__proto__":{"polluted":true},"n":-0}}',
      ),
    expected: fine(/"cursor":\{"n": 0, "__proto__": \{"polluted": true\}\}/),
    changes: true,
  },
  {
    name: 'a rewind to both a cursor and a job',
    build: ({ own }) =>
      send('POST', `/v1/connections/${firstOf(own, 'connections')}/rewind`, {
        cursor: 1,
        job_id: firstOf(own, 'jobs'),
      }),
    expected: invalid(/either job_id or cursor/),
  },
];
