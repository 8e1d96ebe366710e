export interface SocketCase {
  name: string;
  bytes: (host: string, key: string) => string | Buffer;
  /** Of all responses, in order; empty if the server only closes. */
  statuses: readonly number[];
  /** Half-closes the socket after the bytes. */
  ends?: true;
}

const closing = (host: string) => `host: ${host}\r\nconnection: close\r\n`;
/** Returns 200 if the server parses it as a separate request. */
const smuggled = (host: string, key: string) =>
  `GET /v1/me HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`;

/** A login request with these headers and a second request in or after its body. */
const smuggling = (name: string, headers: string, body: (inner: string) => string): SocketCase => ({
  name,
  bytes: (host, key) =>
    `POST /v1/session HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\n${headers}\r\n\r\n${body(smuggled(host, key))}`,
  statuses: [400],
});

const refused = (name: string, headers: string, body = ''): SocketCase => ({
  name,
  bytes: (host) => `POST /v1/session HTTP/1.1\r\n${closing(host)}${headers}\r\n\r\n${body}`,
  statuses: [400],
});

const withHost = (name: string, lines: string, status: number): SocketCase => ({
  name,
  bytes: () => `GET /healthz HTTP/1.1\r\n${lines}connection: close\r\n\r\n`,
  statuses: [status],
});

export const socketCases: readonly SocketCase[] = [
  smuggling(
    'Content-Length, then chunked',
    'content-length: 4\r\ntransfer-encoding: chunked',
    (inner) => `0\r\n\r\n${inner}`,
  ),
  smuggling(
    'chunked, then Content-Length',
    'transfer-encoding: chunked\r\ncontent-length: 4',
    (inner) => `0\r\n\r\n${inner}`,
  ),
  smuggling(
    'two different Content-Lengths',
    'content-length: 2\r\ncontent-length: 90',
    (inner) => `{}${inner}`,
  ),
  smuggling('two lengths in one Content-Length', 'content-length: 2, 2', (inner) => `{}${inner}`),
  smuggling('a Content-Length with a sign', 'content-length: +2', (inner) => `{}${inner}`),
  smuggling('a hexadecimal Content-Length', 'content-length: 0x2', (inner) => `{}${inner}`),
  smuggling('a negative Content-Length', 'content-length: -1', (inner) => `{}${inner}`),
  smuggling('a Content-Length of 40 digits', `content-length: ${'9'.repeat(40)}`, (inner) => `{}${inner}`),
  smuggling('Transfer-Encoding xchunked', 'transfer-encoding: xchunked', (inner) => `0\r\n\r\n${inner}`),
  smuggling(
    'chunked that is not the last encoding',
    'transfer-encoding: chunked, identity',
    (inner) => `0\r\n\r\n${inner}`,
  ),
  smuggling('a space before the colon', 'transfer-encoding : chunked', (inner) => `0\r\n\r\n${inner}`),
  smuggling(
    'a folded header line',
    'x: y\r\n transfer-encoding: chunked\r\ncontent-length: 2',
    (inner) => `{}${inner}`,
  ),
  smuggling('a header line ended by LF', 'content-length: 2\nx: y', (inner) => `{}${inner}`),
  smuggling('CR within a value', 'x: y\rz: w\r\ncontent-length: 2', (inner) => `{}${inner}`),
  smuggling('NUL in a value', 'x: a\0b\r\ncontent-length: 2', (inner) => `{}${inner}`),
  refused('a chunk size that is not a number', 'transfer-encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n'),
  refused('a negative chunk size', 'transfer-encoding: chunked', '-2\r\n{}\r\n0\r\n\r\n'),
  refused(
    'a chunk size beyond 64 bits',
    'transfer-encoding: chunked',
    'FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n',
  ),
  refused('a chunk longer than its size', 'transfer-encoding: chunked', '1\r\n{}\r\n0\r\n\r\n'),
  refused('a header without a colon', 'nonsense'),
  refused('a header with a space in its name', 'a b: c'),
  refused('a header without a name', ': c'),
  refused('an unsupported Transfer-Encoding', 'transfer-encoding: gzip', '{}'),
  {
    name: 'headers of 20 kB',
    bytes: (host) => `GET /healthz HTTP/1.1\r\n${closing(host)}x: ${'y'.repeat(20_000)}\r\n\r\n`,
    statuses: [431],
  },
  {
    name: '3,000 headers',
    bytes: (host) =>
      `GET /healthz HTTP/1.1\r\n${closing(host)}${Array.from({ length: 3000 }, (_, i) => `x${i}: y`).join('\r\n')}\r\n\r\n`,
    statuses: [431],
  },
  {
    name: 'a path of 20 kB',
    bytes: (host) => `GET /${'y'.repeat(20_000)} HTTP/1.1\r\n${closing(host)}\r\n`,
    statuses: [431],
  },
  { name: 'HTTP/0.9', bytes: () => 'GET /\r\n\r\n', statuses: [400] },
  {
    name: 'the HTTP/2 preface',
    bytes: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    statuses: [400],
  },
  {
    name: 'a TLS ClientHello',
    bytes: () => Buffer.from('16030100c8010000c40303000102030405060708090a0b0c0d0e0f0d0a0d0a', 'hex'),
    statuses: [400],
  },
  { name: 'only line breaks', bytes: () => '\r\n'.repeat(1000), statuses: [], ends: true },
  { name: '1 MB of garbage', bytes: () => Buffer.alloc(1_000_000, 0xff), statuses: [400] },
  {
    name: 'CONNECT',
    bytes: (host) => `CONNECT 169.254.169.254:80 HTTP/1.1\r\n${closing(host)}\r\n`,
    statuses: [],
  },
  {
    name: 'a body shorter than its length',
    bytes: (host) =>
      `POST /v1/session HTTP/1.1\r\n${closing(host)}content-type: application/json\r\ncontent-length: 500\r\n\r\n{"key":`,
    statuses: [400],
    ends: true,
  },
  {
    name: 'a chunked body without an end',
    bytes: (host) =>
      `POST /v1/session HTTP/1.1\r\n${closing(host)}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n`,
    statuses: [400],
    ends: true,
  },
  {
    name: 'a body over the limit with Expect: 100-continue',
    bytes: (host, key) =>
      `POST /v1/connections HTTP/1.1\r\n${closing(host)}authorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\nexpect: 100-continue\r\n\r\n`,
    // The server continues, then rejects the announced length without reading the body.
    statuses: [100, 413],
  },
  {
    name: '50 pipelined requests',
    bytes: (host, key) => `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(49) + smuggled(host, key),
    statuses: Array.from({ length: 50 }, () => 200),
  },
  {
    name: 'a WebSocket upgrade',
    bytes: (host) =>
      `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n\r\n`,
    statuses: [200],
  },
  withHost('no Host', '', 400),
  withHost('two Hosts', 'host: localhost\r\nhost: other.example\r\n', 403),
  withHost('a Host with a user', 'host: localhost@other.example\r\n', 400),
  withHost('a Host with a path', 'host: localhost/../other\r\n', 400),
  withHost('an empty Host', 'host: \r\n', 403),
  {
    name: 'an absolute target at another host',
    bytes: (host, key) => smuggled(host, key).replace('GET /v1/me', 'GET http://169.254.169.254/v1/me'),
    statuses: [200],
  },
];
