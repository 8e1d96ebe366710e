/** What is said on a bare socket, and what has to come back. */
export interface SocketCase {
  name: string;
  bytes: (host: string, key: string) => string | Buffer;
  /** The statuses of all answers, in order; none where the server just closes. */
  statuses: readonly number[];
  /** Ends its own side after the bytes. */
  ends?: true;
}

const closing = (host: string) => `host: ${host}\r\nconnection: close\r\n`;
/** Would be answered with 200 if it were taken for a request of its own. */
const smuggled = (host: string, key: string) =>
  `GET /v1/me HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n\r\n`;

/** A request to sign in whose headers and body are as given, with another one behind it. */
const hiding = (name: string, headers: string, body: (inner: string) => string): SocketCase => ({
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

const hosted = (name: string, lines: string, status: number): SocketCase => ({
  name,
  bytes: () => `GET /healthz HTTP/1.1\r\n${lines}connection: close\r\n\r\n`,
  statuses: [status],
});

/** What is no HTTP, or hides something in it. */
export const socketCases: readonly SocketCase[] = [
  hiding(
    'a length and chunks',
    'content-length: 4\r\ntransfer-encoding: chunked',
    (inner) => `0\r\n\r\n${inner}`,
  ),
  hiding(
    'chunks and a length',
    'transfer-encoding: chunked\r\ncontent-length: 4',
    (inner) => `0\r\n\r\n${inner}`,
  ),
  hiding('two lengths that differ', 'content-length: 2\r\ncontent-length: 90', (inner) => `{}${inner}`),
  hiding('two lengths in one header', 'content-length: 2, 2', (inner) => `{}${inner}`),
  hiding('a length with a sign', 'content-length: +2', (inner) => `{}${inner}`),
  hiding('a length in hexadecimal', 'content-length: 0x2', (inner) => `{}${inner}`),
  hiding('a negative length', 'content-length: -1', (inner) => `{}${inner}`),
  hiding('a length beyond all numbers', `content-length: ${'9'.repeat(40)}`, (inner) => `{}${inner}`),
  hiding('an encoding that is almost chunked', 'transfer-encoding: xchunked', (inner) => `0\r\n\r\n${inner}`),
  hiding('chunks that are not last', 'transfer-encoding: chunked, identity', (inner) => `0\r\n\r\n${inner}`),
  hiding('a space before the colon', 'transfer-encoding : chunked', (inner) => `0\r\n\r\n${inner}`),
  hiding(
    'a line that goes on',
    'x: y\r\n transfer-encoding: chunked\r\ncontent-length: 2',
    (inner) => `{}${inner}`,
  ),
  hiding('lines that end with LF', 'content-length: 2\nx: y', (inner) => `{}${inner}`),
  hiding('a return within a value', 'x: y\rz: w\r\ncontent-length: 2', (inner) => `{}${inner}`),
  hiding('NUL in a value', 'x: a\0b\r\ncontent-length: 2', (inner) => `{}${inner}`),
  refused('a chunk whose size is no number', 'transfer-encoding: chunked', 'zz\r\n{}\r\n0\r\n\r\n'),
  refused('a chunk with a negative size', 'transfer-encoding: chunked', '-2\r\n{}\r\n0\r\n\r\n'),
  refused('a chunk larger than any', 'transfer-encoding: chunked', 'FFFFFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n'),
  refused('a chunk longer than its size', 'transfer-encoding: chunked', '1\r\n{}\r\n0\r\n\r\n'),
  refused('a header without a colon', 'nonsense'),
  refused('a header with a space in its name', 'a b: c'),
  refused('a header of no name', ': c'),
  refused('an encoding that nobody knows', 'transfer-encoding: gzip', '{}'),
  {
    name: 'headers of twenty kilobytes',
    bytes: (host) => `GET /healthz HTTP/1.1\r\n${closing(host)}x: ${'y'.repeat(20_000)}\r\n\r\n`,
    statuses: [431],
  },
  {
    name: 'three thousand headers',
    bytes: (host) =>
      `GET /healthz HTTP/1.1\r\n${closing(host)}${Array.from({ length: 3000 }, (_, i) => `x${i}: y`).join('\r\n')}\r\n\r\n`,
    statuses: [431],
  },
  {
    name: 'a path of twenty kilobytes',
    bytes: (host) => `GET /${'y'.repeat(20_000)} HTTP/1.1\r\n${closing(host)}\r\n`,
    statuses: [431],
  },
  { name: 'HTTP 0.9', bytes: () => 'GET /\r\n\r\n', statuses: [400] },
  {
    name: 'the preface of HTTP 2',
    bytes: () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    statuses: [400],
  },
  {
    name: 'a greeting in TLS',
    bytes: () => Buffer.from('16030100c8010000c40303000102030405060708090a0b0c0d0e0f0d0a0d0a', 'hex'),
    statuses: [400],
  },
  { name: 'nothing but line ends, then nothing', bytes: () => '\r\n'.repeat(1000), statuses: [], ends: true },
  { name: 'a megabyte of garbage', bytes: () => Buffer.alloc(1_000_000, 0xff), statuses: [400] },
  {
    name: 'a tunnel',
    bytes: (host) => `CONNECT 169.254.169.254:80 HTTP/1.1\r\n${closing(host)}\r\n`,
    statuses: [],
  },
  {
    name: 'a body that ends before its length',
    bytes: (host) =>
      `POST /v1/session HTTP/1.1\r\n${closing(host)}content-type: application/json\r\ncontent-length: 500\r\n\r\n{"key":`,
    statuses: [400],
    ends: true,
  },
  {
    name: 'chunks without an end',
    bytes: (host) =>
      `POST /v1/session HTTP/1.1\r\n${closing(host)}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n`,
    statuses: [400],
    ends: true,
  },
  {
    name: 'a body too large that waits to be asked for',
    bytes: (host, key) =>
      `POST /v1/connections HTTP/1.1\r\n${closing(host)}authorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\nexpect: 100-continue\r\n\r\n`,
    // It may send, but what it announced is refused without a look at it.
    statuses: [100, 413],
  },
  {
    name: 'fifty requests in one breath',
    bytes: (host, key) => `GET /healthz HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(49) + smuggled(host, key),
    statuses: Array.from({ length: 50 }, () => 200),
  },
  {
    name: 'a socket that wants to be a web socket',
    bytes: (host) =>
      `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-key: x\r\nsec-websocket-version: 13\r\n\r\n`,
    statuses: [200],
  },
  hosted('no host', '', 400),
  hosted('two hosts', 'host: localhost\r\nhost: other.example\r\n', 403),
  hosted('a host with a user', 'host: localhost@other.example\r\n', 400),
  hosted('a host that is a path', 'host: localhost/../other\r\n', 400),
  hosted('an empty host', 'host: \r\n', 403),
  {
    name: 'a target at another host',
    bytes: (host, key) => smuggled(host, key).replace('GET /v1/me', 'GET http://169.254.169.254/v1/me'),
    statuses: [200],
  },
];
