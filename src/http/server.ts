import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOn } from '../platform/listen.ts';
import type { Ports } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import type { Bindings } from './bindings.ts';
import { headers, nodeListener } from './node.ts';
import { Problem } from './problem.ts';

export interface HttpServer {
  url: string;
  /** Waits up to 5 s, except for streams. */
  close(): Promise<void>;
}

/**
 * Above the body timeout (30 s); `keepAliveTimeout` above the 60 s of load balancers: if the server closes
 * first, a request in flight is lost.
 */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 35_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 2000,
};
const maxHeaderSize = 16 * 1024;
/** Node's 400 has no body. */
const parsing = { maxHeaderSize, requireHostHeader: false };
const maxConnections = 2000;
/** Above pulse (2 s) and long polls (30 s). */
const idleMs = 65_000;
const graceMs = 5000;

export async function startServer({
  app,
  host,
  port,
  ports,
}: {
  app: { fetch(request: Request, bindings: Bindings): Response | Promise<Response> };
  host: string;
  port: number;
  ports: Pick<Ports, 'sleep'>;
}): Promise<HttpServer> {
  const stopping = new AbortController();
  const listener = nodeListener(
    (request, bindings) => app.fetch(request, { ...bindings, stopping: stopping.signal }),
    host,
  );
  /** Pending requests; 0 for preconnected sockets. */
  const connections = new Map<Socket, number>();
  const server = createServer({ ...parsing, ...timeouts }, (request, response) => {
    const { socket } = request;
    connections.set(socket, (connections.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const pending = (connections.get(socket) ?? 1) - 1;
      if (connections.has(socket)) connections.set(socket, pending);
      if (pending === 0 && stopping.signal.aborted) socket.end();
    });
    if (request.headers.host === undefined) refuseHostless(response);
    else void listener(request, response);
  });
  server.maxConnections = maxConnections;
  server.timeout = idleMs;
  server.on('connection', (socket) => {
    connections.set(socket, 0);
    socket.once('close', () => connections.delete(socket));
  });
  // Node's 417 has no body.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
  server.on('clientError', refuse);
  const url = await listenOn(
    server,
    { host, port },
    { served: 'HTTP', portVariable: 'SYNCLINE_SERVER_PORT' },
  );
  return {
    url,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const [socket, pending] of connections) if (pending === 0) socket.destroy();
      stopping.abort();
      const cancelDeadline = startTimer(ports, graceMs, () => server.closeAllConnections());
      await closed;
      cancelDeadline();
    },
  };
}

function refuseHostless(response: ServerResponse): void {
  const problem = new Problem('INVALID_ARGUMENT', 'The request has no Host header.');
  response.writeHead(problem.status, {
    'content-type': 'application/problem+json',
    ...headers,
    connection: 'close',
  });
  response.end(JSON.stringify(problem.toBody()));
}

/** Node rejected the request before the app. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = problemOf(error.code);
  const body = JSON.stringify(problem.toBody());
  socket.end(
    [
      `HTTP/1.1 ${problem.status} ${problem.toBody().title}`,
      'content-type: application/problem+json',
      `content-length: ${Buffer.byteLength(body)}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

function problemOf(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new Problem('TOO_LARGE', `The headers are larger than ${maxHeaderSize} bytes.`, { status: 431 });
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new Problem('INVALID_ARGUMENT', 'The request did not arrive in time.', { status: 408 });
  return new Problem('INVALID_ARGUMENT', 'The request is malformed.');
}
