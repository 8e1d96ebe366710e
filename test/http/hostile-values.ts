import type { Chance } from './random.ts';

const someId = '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f';

/** Texts that attackers and broken programs send. */
export const hostileTexts: readonly string[] = [
  '',
  ' ',
  '\t\r\n',
  '0',
  '-1',
  '1.5',
  '1e309',
  '99999999999999999999',
  '9'.repeat(400),
  'NaN',
  'null',
  'true',
  '💥'.repeat(60),
  'ﷺ‮İ',
  '%',
  '%00',
  '%zz',
  '%c3%28',
  '../../../etc/passwd',
  '..%2f..%2f',
  "' OR 1=1 --",
  '"; DROP TABLE x; --',
  '$1',
  '%_\\',
  '{}',
  '["a"]',
  '<script>alert(1)</script>',
  '__proto__',
  'constructor',
  'x'.repeat(120),
  'x'.repeat(600),
  'x'.repeat(3000),
  'x'.repeat(9000),
  someId,
  someId.toUpperCase(),
  someId.replaceAll('-', ''),
  `${someId} `,
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'infinity',
  'beginning',
  'latest',
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00+23:59',
  '1969-12-31T23:59:59.999999999Z',
  '9999-12-31T23:59:59Z',
  '2025-13-45T99:99:99Z',
  '2025-01-01',
  '+275760-09-13T00:00:00Z',
];

const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown;

const hostileJson: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  -0,
  59,
  2 ** 31,
  2 ** 53 - 1,
  2 ** 63,
  1e21,
  1e308,
  [],
  {},
  [[]],
  [null, 'a'],
  { a: { b: [1, '\0'] } },
  { sync: { next_run_at: 'x', cursor: '\ud800', interval_seconds: {} } },
  { sync: 'no object' },
  { sync: { next_run_at: '294277-01-01T00:00:00Z', interval_seconds: 1e300 } },
  JSON.parse('{"__proto__": {"a": 1}, "constructor": null}'),
  nested(99),
  nested(101),
  nested(3000),
  Array.from({ length: 5000 }, (_, i) => i),
  Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key${i}`, i])),
];

/** Text that Postgres cannot store, plain and nested. */
const unstorable: readonly unknown[] = [
  'a\0b',
  '\ud800',
  'half \udfff of it',
  { text: 'a\0b' },
  { '\0': 'name' },
  { list: ['\udfff'] },
];

export function hostileValue(chance: Chance): unknown {
  if (chance.percent(20)) return chance.pick(unstorable);
  return chance.percent(60) ? chance.pick(hostileTexts) : chance.pick(hostileJson);
}

/** Near misses of the values in a cursor. */
const hostileIds: readonly unknown[] = [[someId], [[someId]], { id: someId }, someId, someId.toUpperCase()];
const hostileInstants: readonly unknown[] = [
  'infinity',
  '-infinity',
  ['2025-01-01 00:00:00+00'],
  '9999-99-99 99:99:99+99',
  '2025-02-30 00:00:00+00',
  '2025-01-01 24:00:01+00',
  '2025-01-01 00:00:00+99',
  '294277-01-01 00:00:00+00',
  '999999-12-31 23:59:59.999999+15:59:59',
  '0000-01-01 00:00:00+00',
];
const hostileKeys: readonly unknown[] = [
  ...hostileIds,
  ...hostileInstants,
  null,
  5,
  -1,
  '',
  'x',
  '\0',
  '\ud800',
  '999999999999999',
  '0',
  '1'.repeat(1500),
];

function hostileKey(chance: Chance, original: unknown): unknown {
  if (chance.percent(30)) return chance.pick(hostileKeys);
  if (/^[\da-f]{8}-/.test(String(original))) return chance.pick(hostileIds);
  return chance.pick(/^\d{4}-/.test(String(original)) ? hostileInstants : hostileKeys);
}

const lists = [
  'connections',
  'jobs',
  'history',
  'signals',
  'received',
  'events',
  'keys',
  'credentials',
  'tenants',
  'providers',
  'consumers',
  'budgets',
  'feed',
  'within',
];

/** A cursor of another list, a truncated one, or one with a changed value. */
export function hostileCursor(chance: Chance, known: readonly string[]): string {
  const cursor = chance.pick(known);
  if (chance.percent(10)) return cursor;
  if (chance.percent(10)) return cursor.slice(0, chance.below(cursor.length));
  if (chance.percent(5)) return `${cursor}${chance.pick(['=', 'A', '!', ' '])}`;
  const [list, ...key] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
  const at = chance.below(key.length);
  const changed = key.map((part, i) => (i === at ? hostileKey(chance, part) : part));
  if (chance.percent(5)) changed.push(chance.pick(hostileKeys));
  const name = chance.percent(10) ? chance.pick(lists) : list;
  return Buffer.from(JSON.stringify(chance.percent(3) ? name : [name, ...changed])).toString('base64url');
}

/** Malformed and unusual HTTP requests; `host` is a valid Host header. */
export function brokenRequests(host: string): (string | Buffer)[] {
  const end = `host: ${host}\r\nconnection: close\r\n\r\n`;
  return [
    'GET / HTTP/1.1\r\nconnection: close\r\n\r\n',
    `GET /v1/me HTTP/9.9\r\n${end}`,
    `GET /v1/me HTTP/1.0\r\n${end}`,
    `FOO /v1/me HTTP/1.1\r\n${end}`,
    `get /v1/me HTTP/1.1\r\n${end}`,
    `TRACE /v1/me HTTP/1.1\r\n${end}`,
    `CONNECT /v1/me HTTP/1.1\r\n${end}`,
    `OPTIONS * HTTP/1.1\r\n${end}`,
    `GET * HTTP/1.1\r\n${end}`,
    `GET http://other.example/v1/me HTTP/1.1\r\n${end}`,
    `GET http://[/v1/me HTTP/1.1\r\n${end}`,
    `GET //v1//me HTTP/1.1\r\n${end}`,
    `GET //other.example/v1/me HTTP/1.1\r\n${end}`,
    `GET /v1/\\..\\me HTTP/1.1\r\n${end}`,
    `GET /v1/me# HTTP/1.1\r\n${end}`,
    `GET /v1/m e HTTP/1.1\r\n${end}`,
    Buffer.from(`GET /v1/\xff\xfe HTTP/1.1\r\n${end}`, 'latin1'),
    Buffer.from(`GET /v1/m\x00e HTTP/1.1\r\n${end}`, 'latin1'),
    `GET /v1/me HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n`,
    `GET /v1/me HTTP/1.1\r\nhost: [\r\nconnection: close\r\n\r\n`,
    `GET /v1/me HTTP/1.1\r\nhost: other.example\r\nconnection: close\r\n\r\n`,
    `GET /v1/me HTTP/1.1\r\nhost: a/../b?c#d\r\nconnection: close\r\n\r\n`,
    `GET /v1/me HTTP/1.1\r\nhost: ${host}\r\n${end}`,
    `GET /v1/me HTTP/1.1\r\nbad header\r\n${end}`,
    `GET /v1/me HTTP/1.1\r\nexpect: nonsense\r\n${end}`,
    `GET /v1/me HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n${end}`,
    `GET /v1/me HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n${end}`,
    `GET /v1/me?${'y'.repeat(20_000)} HTTP/1.1\r\n${end}`,
    `POST /v1/session HTTP/1.1\r\ncontent-length: abc\r\n${end}`,
    `POST /v1/session HTTP/1.1\r\ncontent-length: -1\r\n${end}`,
    `POST /v1/session HTTP/1.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n${end}{}`,
    `POST /v1/session HTTP/1.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n${end}{}`,
    `POST /v1/session HTTP/1.1\r\ntransfer-encoding: chunked\r\n${end}zz\r\n{}\r\n0\r\n\r\n`,
    `POST /v1/session HTTP/1.1\r\ntransfer-encoding: gzip\r\n${end}{}`,
    'no http at all\r\n\r\n',
    Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a, 0x0d, 0x0a]),
  ];
}
