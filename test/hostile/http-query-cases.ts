import {
  cursorOf,
  fine,
  firstOf,
  forbidden,
  get,
  type HttpCase,
  invalid,
  notFound,
  send,
  unauthenticated,
} from './http-case.ts';

const none = /none of this list/;
const whole = /limit must be a whole number from 1 to 100/;
const unknown = /is not known here/;
const list = (query: string) => () => get(`/v1/connections?${query}`);
const refusedLimit = (text: string): HttpCase => ({
  name: `a limit of ${JSON.stringify(text)}`,
  ask: list(`limit=${encodeURIComponent(text)}`),
  expected: invalid(whole, 'limit'),
});
const refusedCursor = (name: string, cursor: string): HttpCase => ({
  name: `a cursor that is ${name}`,
  ask: list(`cursor=${encodeURIComponent(cursor)}`),
  expected: invalid(none),
});

/** Queries and paths. */
export const queryCases: readonly HttpCase[] = [
  ...['', ' 5', '-0', '1e2', '0x10', '1.0', '+5', '5 ', '٣', '９', '1'.repeat(400), 'NaN', 'null'].map(
    refusedLimit,
  ),
  {
    name: 'a parameter that is given twice',
    ask: list('limit=5&limit=6'),
    expected: invalid(/limit is given more than once/, 'limit'),
  },
  {
    name: 'a parameter as a list',
    ask: list('limit[]=5'),
    expected: invalid(unknown, 'limit[]'),
  },
  ...['__proto__', 'constructor', 'toString', '__proto__[limit]', 'constructor.prototype.limit'].map(
    (name): HttpCase => ({
      name: `a parameter named ${name}`,
      ask: list(`${encodeURIComponent(name)}=1`),
      expected: invalid(unknown, name),
    }),
  ),
  ...['__proto__', 'constructor', 'hasOwnProperty', 'ACTIVE', "active' OR 1=1 --"].map(
    (status): HttpCase => ({
      name: `a status of ${status}`,
      ask: list(`status=${encodeURIComponent(status)}`),
      expected: invalid(/status must be one of active, paused/, 'status'),
    }),
  ),
  {
    name: 'fifty-one parameters',
    ask: list(Array.from({ length: 51 }, (_, i) => `a${i}=1`).join('&')),
    expected: invalid(/more than 50 query parameters/),
  },
  {
    name: 'a URL of nine thousand characters',
    ask: list(`search=${'x'.repeat(9000)}`),
    expected: { status: 414, code: 'TOO_LARGE' },
  },
  {
    name: 'a search that wants to be SQL',
    ask: list(`search=${encodeURIComponent(`' OR 1=1; DROP TABLE connections; --`)}`),
    expected: fine(/"items":\[\]/),
  },
  ...['%25', '_', '%25%25', '%5C', '%5C%25'].map(
    (search): HttpCase => ({
      name: `a search for ${decodeURIComponent(search)}, which is no pattern`,
      ask: list(`search=${search}`),
      expected: fine(/"items":\[\]/),
    }),
  ),
  {
    name: 'NUL in a query',
    ask: list('search=a%00b'),
    expected: invalid(/the character NUL/),
  },
  {
    name: 'half a surrogate pair in a query',
    ask: list('search=%ED%A0%80'),
    expected: invalid(/encodes no UTF-8/),
  },
  {
    name: 'overlong UTF-8 in a query',
    ask: list('search=%C0%AF'),
    expected: invalid(/encodes no UTF-8/),
  },
  {
    name: 'a percent sign that encodes nothing',
    ask: list('search=%zz'),
    expected: invalid(/encodes no UTF-8/),
  },
  {
    name: 'an API key in the query, which is not repeated',
    ask: ({ own }) => get(`/v1/me?api_key=${own.key}`),
    expected: invalid(/^(?!.*syn_\w)/s, 'api_key'),
  },
  refusedCursor('empty JSON', cursorOf()),
  refusedCursor('an object', Buffer.from('{"0":"connections"}').toString('base64url')),
  refusedCursor('nested deeply', Buffer.from('['.repeat(700)).toString('base64url')),
  refusedCursor('no base64', '!!!'),
  refusedCursor('the name of its list alone', cursorOf('connections')),
  refusedCursor('of a part too many', cursorOf('connections', '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f', 'x')),
  refusedCursor('with a list for an id', cursorOf('connections', ['0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f'])),
  refusedCursor('with SQL for an id', cursorOf('connections', "' OR ''='")),
  refusedCursor(
    'with a newline behind the id',
    cursorOf('connections', `0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f\n`),
  ),
  refusedCursor('of a list that there is not', cursorOf('__proto__', '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f')),
  {
    name: 'a cursor of another list',
    ask: ({ cursors }) => get(`/v1/connections?cursor=${cursors['/v1/jobs']}`),
    expected: invalid(none),
  },
  {
    name: 'a cursor without its end',
    ask: ({ cursors }) => get(`/v1/connections?cursor=${cursors['/v1/connections']?.slice(0, -3)}`),
    expected: invalid(none),
  },
  {
    name: 'a cursor of two thousand and one characters',
    ask: list(`cursor=${'A'.repeat(2001)}`),
    expected: invalid(/cursor must be text of 1 to 2000 characters/, 'cursor'),
  },
  ...['/v1/connections', '/v1/jobs', '/v1/credentials', '/v1/signals', '/v1/audit'].map(
    (path): HttpCase => ({
      name: `${path}: a cursor of another tenant shows what is one's own`,
      ask: ({ foreignCursors }) => get(`${path}?limit=100&cursor=${foreignCursors[path]}`),
      expected: fine(/"items":\[/),
    }),
  ),
  ...[
    '+275760-09-13T00:00:00Z',
    '-271821-04-20T00:00:00Z',
    '2025-02-30T00:00:00Z',
    '2025-01-01',
    '1e400',
  ].map(
    (since): HttpCase => ({
      name: `jobs since ${since}`,
      ask: () => get(`/v1/jobs?since=${encodeURIComponent(since)}`),
      expected: invalid(/since must be a time such as/, 'since'),
    }),
  ),
];

/** Paths, methods and who asks. */
export const pathCases: readonly HttpCase[] = [
  ...[
    '/assets/../../secret.txt',
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/%252e%252e%252fsecret.txt',
    '/assets/..%5c..%5csecret.txt',
    '/assets/....//....//secret.txt',
    '//secret.txt',
    '/./../secret.txt',
    '/assets/..;/..;/secret.txt',
    '/dashboard/../secret.txt',
    '/index.html/../../secret.txt',
  ].map(
    (target): HttpCase => ({
      name: `a file beside the dashboard: ${target}`,
      as: 'nobody',
      ask: () => get(target),
      expected: notFound,
    }),
  ),
  ...['/%c0%ae%c0%ae/secret.txt', '/assets/%ff%fe', '/assets/%'].map(
    (target): HttpCase => ({
      name: `a path that is no text: ${target}`,
      as: 'nobody',
      ask: () => get(target),
      expected: invalid(/encodes no UTF-8/),
    }),
  ),
  {
    name: 'a path that NUL cuts off',
    as: 'nobody',
    ask: () => get('/secret.txt%00.html'),
    expected: invalid(/NUL/),
  },
  ...['/v1//me', '/V1/me', '/v1/me;a=b', '/v1/me/%2e%2e%2fkeys', '/v1/connections%2fbulk'].map(
    (target): HttpCase => ({
      name: `a path that is not quite one: ${target}`,
      ask: () => get(target),
      expected: notFound,
    }),
  ),
  ...['%27%20OR%201%3D1%20--', '..%2f..%2fkeys', '__proto__', '%F0%9F%92%A5', '0', 'x'.repeat(3000)].map(
    (id): HttpCase => ({
      name: `a connection whose id is ${decodeURIComponent(id).slice(0, 40)}`,
      ask: () => get(`/v1/connections/${id}`),
      expected: invalid(/id must be a UUID/, 'id'),
    }),
  ),
  {
    name: 'an id in capitals is the same id',
    ask: ({ own }) => get(`/v1/connections/${firstOf(own, 'connections').toUpperCase()}`),
    expected: fine(/"id":"/),
  },
  ...['TRACE', 'PROPFIND', 'OPTIONS', 'PATCH', 'PURGE'].map(
    (method): HttpCase => ({
      name: `${method} of a list`,
      ask: () => ({ method, target: '/v1/connections' }),
      expected: { status: 405, code: 'INVALID_ARGUMENT', told: /only GET, HEAD, POST|only POST, GET, HEAD/ },
    }),
  ),
  {
    name: 'a GET that a header calls a DELETE',
    ask: ({ own }) =>
      get(`/v1/connections/${firstOf(own, 'connections')}`, {
        'x-http-method-override': 'DELETE',
        'x-method-override': 'DELETE',
      }),
    expected: fine(),
  },
  { name: 'no key', as: 'nobody', ask: () => get('/v1/me'), expected: unauthenticated },
  ...[
    'Bearer',
    'Basic dXNlcjp3b3Jk',
    'Bearer syn_',
    `Bearer syn_${'x'.repeat(600)}`,
    'Bearer null',
    'Negotiate x',
  ].map(
    (authorization): HttpCase => ({
      name: `the key ${authorization.slice(0, 30)}`,
      as: 'nobody',
      ask: () => get('/v1/me', { authorization }),
      expected: unauthenticated,
    }),
  ),
  {
    name: 'a key with another behind it',
    as: 'nobody',
    ask: ({ own }) => get('/v1/me', { authorization: `Bearer ${own.key}, Bearer ${own.key}` }),
    expected: unauthenticated,
  },
  ...['%', '__proto__', '"', 'x'.repeat(3000)].map(
    (value): HttpCase => ({
      name: `a session that is ${value.slice(0, 20)}`,
      as: 'nobody',
      ask: () => get('/v1/me', { cookie: `syncline_session=${value}` }),
      expected: unauthenticated,
    }),
  ),
  {
    name: 'a session changes nothing without saying that it means to',
    as: 'session',
    ask: ({ own }) => send('POST', `/v1/connections/${firstOf(own, 'connections')}/pause`, {}),
    expected: { ...forbidden, told: /x-syncline-request: 1/ },
  },
  ...['null', 'https://other.example', 'http://localhost.other.example', 'garbage'].map(
    (origin): HttpCase => ({
      name: `a session changes nothing from a page of ${origin}`,
      as: 'session',
      ask: ({ own }) =>
        send(
          'POST',
          `/v1/connections/${firstOf(own, 'connections')}/pause`,
          {},
          {
            'x-syncline-request': '1',
            origin,
          },
        ),
      expected: { ...forbidden, told: /another origin/ },
    }),
  ),
  ...['other.example', 'localhost.other.example', '0.0.0.0', '127.1', '2130706433', '169.254.169.254'].map(
    (host): HttpCase => ({
      name: `the host ${host}`,
      as: 'nobody',
      ask: () => get('/healthz', { host }),
      expected: forbidden,
    }),
  ),
  ...['[::ffff:127.0.0.1]', 'localhost:80:80', '[', 'a b'].map(
    (host): HttpCase => ({
      name: `a host that is none: ${host}`,
      as: 'nobody',
      ask: () => get('/healthz', { host }),
      expected: invalid(/cannot be understood/),
    }),
  ),
];
