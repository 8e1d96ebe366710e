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

const otherList = /must be a cursor of this list/;
const limitRange = /limit must be a whole number from 1 to 100/;
const unknown = /is unknown/;
const list = (query: string) => () => get(`/v1/connections?${query}`);
const refusedLimit = (text: string): HttpCase => ({
  name: `a limit of ${JSON.stringify(text)}`,
  build: list(`limit=${encodeURIComponent(text)}`),
  expected: invalid(limitRange, 'limit'),
});
const refusedCursor = (name: string, cursor: string): HttpCase => ({
  name: `an invalid cursor: ${name}`,
  build: list(`cursor=${encodeURIComponent(cursor)}`),
  expected: invalid(otherList),
});

export const queryCases: readonly HttpCase[] = [
  ...['', ' 5', '-0', '1e2', '0x10', '1.0', '+5', '5 ', '٣', '９', '1'.repeat(400), 'NaN', 'null'].map(
    refusedLimit,
  ),
  {
    name: 'a repeated parameter',
    build: list('limit=5&limit=6'),
    expected: invalid(/limit must not be repeated/, 'limit'),
  },
  {
    name: 'a parameter as a list',
    build: list('limit[]=5'),
    expected: invalid(unknown, 'limit[]'),
  },
  ...['__proto__', 'constructor', 'toString', '__proto__[limit]', 'constructor.prototype.limit'].map(
    (name): HttpCase => ({
      name: `a parameter named ${name}`,
      build: list(`${encodeURIComponent(name)}=1`),
      expected: invalid(unknown, name),
    }),
  ),
  ...['__proto__', 'constructor', 'hasOwnProperty', 'ACTIVE', "active' OR 1=1 --"].map(
    (status): HttpCase => ({
      name: `a status of ${status}`,
      build: list(`status=${encodeURIComponent(status)}`),
      expected: invalid(/status must be one of active, paused/, 'status'),
    }),
  ),
  {
    name: '51 parameters',
    build: list(Array.from({ length: 51 }, (_, i) => `a${i}=1`).join('&')),
    expected: invalid(/more than 50 query parameters/),
  },
  {
    name: 'a URL of 9,000 characters',
    build: list(`search=${'x'.repeat(9000)}`),
    expected: { status: 414, code: 'TOO_LARGE' },
  },
  {
    name: 'a search with SQL',
    build: list(`search=${encodeURIComponent(`' OR 1=1; DROP TABLE connections; --`)}`),
    expected: fine(/"items":\[\]/),
  },
  ...['%25', '_', '%25%25', '%5C', '%5C%25'].map(
    (search): HttpCase => ({
      name: `a search for ${decodeURIComponent(search)}is literal`,
      build: list(`search=${search}`),
      expected: fine(/"items":\[\]/),
    }),
  ),
  {
    name: 'NUL in a query',
    build: list('search=a%00b'),
    expected: invalid(/a NUL character/),
  },
  {
    name: 'a surrogate in a query',
    build: list('search=%ED%A0%80'),
    expected: invalid(/invalid percent-encoding/),
  },
  {
    name: 'overlong UTF-8 in a query',
    build: list('search=%C0%AF'),
    expected: invalid(/invalid percent-encoding/),
  },
  {
    name: 'an invalid percent-encoding',
    build: list('search=%zz'),
    expected: invalid(/invalid percent-encoding/),
  },
  {
    name: 'an API key in the query is not echoed',
    build: ({ own }) => get(`/v1/me?api_key=${own.key}`),
    expected: invalid(/^(?!.*syn_\w)/s, 'api_key'),
  },
  refusedCursor('empty JSON', cursorOf()),
  refusedCursor('an object', Buffer.from('{"0":"connections"}').toString('base64url')),
  refusedCursor('deeply nested JSON', Buffer.from('['.repeat(700)).toString('base64url')),
  refusedCursor('not base64', '!!!'),
  refusedCursor('only the name of the list', cursorOf('connections')),
  refusedCursor('an extra part', cursorOf('connections', '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f', 'x')),
  refusedCursor('a list as ID', cursorOf('connections', ['0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f'])),
  refusedCursor('SQL as ID', cursorOf('connections', "' OR ''='")),
  refusedCursor('a newline after the ID', cursorOf('connections', `0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f\n`)),
  refusedCursor('an unknown list', cursorOf('__proto__', '0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f')),
  {
    name: 'a cursor of another list',
    build: ({ cursors }) => get(`/v1/connections?cursor=${cursors['/v1/jobs']}`),
    expected: invalid(otherList),
  },
  {
    name: 'a truncated cursor',
    build: ({ cursors }) => get(`/v1/connections?cursor=${cursors['/v1/connections']?.slice(0, -3)}`),
    expected: invalid(otherList),
  },
  {
    name: 'a cursor of 2,001 characters',
    build: list(`cursor=${'A'.repeat(2001)}`),
    expected: invalid(/cursor must be text of 1 to 2000 characters/, 'cursor'),
  },
  ...['/v1/connections', '/v1/jobs', '/v1/credentials', '/v1/signals', '/v1/audit'].map(
    (path): HttpCase => ({
      name: `${path}: a cursor of another tenant returns only own items`,
      build: ({ foreignCursors }) => get(`${path}?limit=100&cursor=${foreignCursors[path]}`),
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
      build: () => get(`/v1/jobs?since=${encodeURIComponent(since)}`),
      expected: invalid(/since must be a time such as/, 'since'),
    }),
  ),
];

/** Paths, methods, authentication and hosts. */
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
      as: 'anonymous',
      build: () => get(target),
      expected: notFound,
    }),
  ),
  ...['/%c0%ae%c0%ae/secret.txt', '/assets/%ff%fe', '/assets/%'].map(
    (target): HttpCase => ({
      name: `a path that is not valid UTF-8: ${target}`,
      as: 'anonymous',
      build: () => get(target),
      expected: invalid(/invalid percent-encoding/),
    }),
  ),
  {
    name: 'a path with NUL',
    as: 'anonymous',
    build: () => get('/secret.txt%00.html'),
    expected: invalid(/NUL/),
  },
  ...['/v1//me', '/V1/me', '/v1/me;a=b', '/v1/me/%2e%2e%2fkeys', '/v1/connections%2fbulk'].map(
    (target): HttpCase => ({
      name: `a path similar to a route: ${target}`,
      build: () => get(target),
      expected: notFound,
    }),
  ),
  ...['%27%20OR%201%3D1%20--', '..%2f..%2fkeys', '__proto__', '%F0%9F%92%A5', '0', 'x'.repeat(3000)].map(
    (id): HttpCase => ({
      name: `a connection whose id is ${decodeURIComponent(id).slice(0, 40)}`,
      build: () => get(`/v1/connections/${id}`),
      expected: invalid(/id must be a UUID/, 'id'),
    }),
  ),
  {
    name: 'an uppercase ID is accepted',
    build: ({ own }) => get(`/v1/connections/${firstOf(own, 'connections').toUpperCase()}`),
    expected: fine(/"id":"/),
  },
  ...['TRACE', 'PROPFIND', 'OPTIONS', 'PATCH', 'PURGE'].map(
    (method): HttpCase => ({
      name: `${method} of a list`,
      build: () => ({ method, target: '/v1/connections' }),
      expected: { status: 405, code: 'INVALID_ARGUMENT', body: /use GET, HEAD, POST|use POST, GET, HEAD/ },
    }),
  ),
  {
    name: 'a method override header is ignored',
    build: ({ own }) =>
      get(`/v1/connections/${firstOf(own, 'connections')}`, {
        'x-http-method-override': 'DELETE',
        'x-method-override': 'DELETE',
      }),
    expected: fine(),
  },
  { name: 'no key', as: 'anonymous', build: () => get('/v1/me'), expected: unauthenticated },
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
      as: 'anonymous',
      build: () => get('/v1/me', { authorization }),
      expected: unauthenticated,
    }),
  ),
  {
    name: 'two keys in one header',
    as: 'anonymous',
    build: ({ own }) => get('/v1/me', { authorization: `Bearer ${own.key}, Bearer ${own.key}` }),
    expected: unauthenticated,
  },
  ...['%', '__proto__', '"', 'x'.repeat(3000)].map(
    (value): HttpCase => ({
      name: `an invalid session: ${value.slice(0, 20)}`,
      as: 'anonymous',
      build: () => get('/v1/me', { cookie: `syncline_session=${value}` }),
      expected: unauthenticated,
    }),
  ),
  {
    name: 'a session cannot write without the x-syncline-request header',
    as: 'session',
    build: ({ own }) => send('POST', `/v1/connections/${firstOf(own, 'connections')}/pause`, {}),
    expected: { ...forbidden, body: /x-syncline-request: 1/ },
  },
  ...['null', 'https://other.example', 'http://localhost.other.example', 'garbage'].map(
    (origin): HttpCase => ({
      name: `a session cannot write from origin ${origin}`,
      as: 'session',
      build: ({ own }) =>
        send(
          'POST',
          `/v1/connections/${firstOf(own, 'connections')}/pause`,
          {},
          {
            'x-syncline-request': '1',
            origin,
          },
        ),
      expected: { ...forbidden, body: /another origin/ },
    }),
  ),
  ...['other.example', 'localhost.other.example', '0.0.0.0', '127.1', '2130706433', '169.254.169.254'].map(
    (host): HttpCase => ({
      name: `a foreign host: ${host}`,
      as: 'anonymous',
      build: () => get('/healthz', { host }),
      expected: forbidden,
    }),
  ),
  ...['[::ffff:127.0.0.1]', 'localhost:80:80', '[', 'a b'].map(
    (host): HttpCase => ({
      name: `a malformed host: ${host}`,
      as: 'anonymous',
      build: () => get('/healthz', { host }),
      expected: invalid(/is malformed/),
    }),
  ),
];
