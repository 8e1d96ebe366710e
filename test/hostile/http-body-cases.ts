import { gzipSync } from 'node:zlib';
import { fine, firstOf, get, type HttpCase, invalid, notFound, send } from './http-case.ts';
import { nestedText } from './odd-values.ts';

const noJson = /The body is not valid JSON/;
const noText = /The body is not valid UTF-8/;
const paused = (body: unknown, headers: Record<string, string> = {}): HttpCase['ask'] => {
  return ({ own }) => send('POST', `/v1/connections/${firstOf(own, 'connections')}/pause`, body, headers);
};
const created = (fields: object): HttpCase['ask'] => {
  return ({ own }) =>
    send('POST', '/v1/connections', { tenant_id: own.tenantId, provider: 'steady', ...fields });
};
const refusedBody = (name: string, body: string | Buffer, told: RegExp, field?: string): HttpCase => ({
  name: `a body that is ${name}`,
  ask: paused(body),
  expected: invalid(told, field),
});
const refusedField = (name: string, fields: object, told: RegExp): HttpCase => ({
  name: `a connection with ${name}`,
  ask: created(fields),
  expected: invalid(told, Object.keys(fields)[0]),
});
const made = (told: RegExp) => ({ status: 201, told });

/** What is sent along. */
export const bodyCases: readonly HttpCase[] = [
  refusedBody('cut off', '{"reason":"x', noJson),
  refusedBody('two values', '{}{}', noJson),
  refusedBody('JavaScript', '{reason:1}', noJson),
  refusedBody('NaN', '{"reason":NaN}', noJson),
  refusedBody('overlong UTF-8', Buffer.from('{"reason":"\xc0\xaf"}', 'latin1'), noText),
  refusedBody('UTF-8 of half a surrogate pair', Buffer.from('{"reason":"\xed\xa0\x80"}', 'latin1'), noText),
  refusedBody('UTF-16', Buffer.from('\ufeff{"reason":"x"}', 'utf16le'), noText),
  refusedBody('compressed', gzipSync('{}'), noText),
  refusedBody('a bomb: ten megabytes in ten kilobytes', gzipSync(Buffer.alloc(10_000_000)), noText),
  refusedBody('half a surrogate pair, escaped', '{"reason":"\\ud800"}', /reason contains half/, 'reason'),
  refusedBody('NUL, escaped', '{"reason":"a\\u0000b"}', /reason contains the character NUL/, 'reason'),
  refusedBody('a name with NUL', '{"a\\u0000b":1}', /contains the character NUL/),
  refusedBody('nested 101 levels', `{"reason":${nestedText(101)}}`, /nested deeper than 100 levels/),
  refusedBody('nested 100,000 levels', `{"reason":${nestedText(100_000)}}`, /nested deeper than 100 levels/),
  refusedBody('nested and never closed', '['.repeat(500_000), noJson),
  refusedBody(
    'a number beyond a double',
    '{"reason":1e400}',
    /reason is a number that is too large/,
    'reason',
  ),
  refusedBody('null', 'null', /body must be an object/i),
  refusedBody('a list', '[]', /body must be an object/i),
  refusedBody('text', '"reason"', /body must be an object/i),
  refusedBody('a field that there is not', '{"raeson":"x"}', /Did you mean reason/, 'raeson'),
  refusedBody(
    'a field named constructor',
    '{"constructor":{"prototype":{}}}',
    /not known here/,
    'constructor',
  ),
  refusedBody('a prototype', '{"__proto__":{"reason":"x"}}', /not known here/, '__proto__'),
  {
    name: 'a body with a mark of its byte order',
    ask: paused('\ufeff{"reason":"x"}'),
    expected: fine(/"status":"paused"/),
    changes: true,
  },
  {
    name: 'a reason that wants to be headers and HTML',
    ask: paused({ reason: 'x\r\nset-cookie: a=b\r\n\r\n<script>alert(1)</script>' }),
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
      name: `JSON that is said to be ${type}`,
      ask: (world) => ({ ...created({})(world), headers: { 'content-type': type } }),
      expected: { status: 415, code: 'INVALID_ARGUMENT', told: /must be JSON/ },
    }),
  ),
  {
    name: 'a megabyte and a byte',
    ask: paused(JSON.stringify({ reason: 'x'.repeat(1024 * 1024) }), { connection: 'close' }),
    expected: { status: 413, code: 'TOO_LARGE' },
  },
  {
    name: 'two megabytes in chunks, whose size nobody told',
    ask: paused('x'.repeat(2_000_000), { 'transfer-encoding': 'chunked', connection: 'close' }),
    expected: { status: 413, code: 'TOO_LARGE' },
  },
  {
    name: 'a body where none is expected',
    ask: () => ({ ...get('/v1/me'), body: '{"a":1}', headers: { 'content-type': 'application/json' } }),
    expected: fine(),
  },
  ...[-1, 59, 60.5, 1e308, 2 ** 53, -0, '300', null, [300], { seconds: 300 }, true].map(
    (interval): HttpCase => ({
      name: `a connection with an interval of ${Object.is(interval, -0) ? '-0' : JSON.stringify(interval)}`,
      ask: created({ interval_seconds: interval }),
      expected: invalid(/interval_?seconds/i),
    }),
  ),
  refusedField('no tenant', { tenant_id: 'x' }, /tenant_id must be a UUID/),
  refusedField('a tenant in a list', { tenant_id: ['0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f'] }, /tenant_id/),
  refusedField('an empty provider', { provider: ' \t\n' }, /provider must be text/),
  refusedField('a name of 501 characters', { external_id: 'x'.repeat(501) }, /external_id must be text/),
  refusedField('a config that is a list', { config: [] }, /config must be an object/),
  refusedField('a config that is text', { config: '{}' }, /config must be an object/),
  refusedField('a config of 65 KB', { config: { text: 'x'.repeat(65 * 1024) } }, /at most 65536 bytes/),
  refusedField('metadata of 65 KB', { metadata: { text: 'x'.repeat(65 * 1024) } }, /at most 65536 bytes/),
  {
    name: 'a connection with a provider that every object has',
    ask: created({ provider: '__proto__' }),
    expected: notFound,
  },
  {
    name: "a connection under another's tenant",
    ask: ({ foreign }) =>
      send('POST', '/v1/connections', { tenant_id: foreign.tenantId, provider: 'steady' }),
    expected: notFound,
  },
  {
    name: "a connection with another's credential",
    ask: (world) => created({ credential_id: firstOf(world.foreign, 'credentials') })(world),
    expected: notFound,
  },
  {
    name: 'a connection named by SQL, HTML and marks that turn writing round comes back as it is',
    ask: created({ external_id: `'; DROP TABLE x; --<img src=x onerror=alert(1)>\u202e` }),
    expected: made(/'; DROP TABLE x; --<img src=x onerror=alert\(1\)>\u202e/),
    changes: true,
  },
  {
    name: 'a config with the names that every object has',
    ask: ({ own }) =>
      send(
        'POST',
        '/v1/connections',
        `{"tenant_id":"${own.tenantId}","provider":"steady","config":{"constructor":{"prototype":{"polluted":true}},"toString":1}}`,
      ),
    expected: made(/"config":\{.*"toString":1/),
    changes: true,
  },
  {
    name: 'metadata whose sync is no object',
    ask: created({ metadata: { sync: 42 } }),
    expected: made(/"invalid_metadata":\[\]/),
    changes: true,
  },
  ...[32_768, -32_769, 1.5, '10', 1e308].map(
    (priority): HttpCase => ({
      name: `a trigger with a priority of ${JSON.stringify(priority)}`,
      ask: ({ own }) => send('POST', `/v1/connections/${firstOf(own, 'connections')}/trigger`, { priority }),
      expected: invalid(/priority/, 'priority'),
    }),
  ),
  {
    name: 'a cursor that sets a prototype is kept as it is',
    ask: ({ own }) =>
      send(
        'POST',
        `/v1/connections/${firstOf(own, 'connections')}/rewind`,
        '{"cursor":{"__proto__":{"polluted":true},"n":-0}}',
      ),
    expected: fine(
      /"cursor":\{"n":0,"__proto__":\{"polluted":true\}\}|"cursor":\{"__proto__":\{"polluted":true\},"n":0\}/,
    ),
    changes: true,
  },
  {
    name: 'a rewind to a cursor and to a job at once',
    ask: ({ own }) =>
      send('POST', `/v1/connections/${firstOf(own, 'connections')}/rewind`, {
        cursor: 1,
        job_id: firstOf(own, 'jobs'),
      }),
    expected: invalid(/either job_id or cursor/),
  },
];
