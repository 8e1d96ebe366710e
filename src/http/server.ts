import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { listenOn } from '../platform/listen.ts';
import type { HttpEnv } from './context.ts';
import { Problem } from './problem.ts';
import { securityHeaders } from './security-headers.ts';

export interface HttpServer {
  /** Without a slash at the end. */
  url: string;
  /** Takes nothing new, ends streams and long polls, and lets the other requests finish, for a while. */
  close(): Promise<void>;
}

/**
 * A request that has not come in by then is not coming: its socket is wanted for others. The app refuses slow bodies by itself,
 * a little sooner. A socket between two requests is kept for longer than load balancers keep theirs (60 s): where we close
 * first, a request may be on its way, and is lost.
 */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 35_000,
  keepAliveTimeout: 65_000,
  // Node looks for requests that are over time only this often.
  connectionsCheckingInterval: 2000,
};
const maxHeaderSize = 16 * 1024;
/** Without a Host, Node would refuse by itself, and not say why: requests are refused here, in the form of all others. */
const parsing = { maxHeaderSize, requireHostHeader: false };
const maxConnections = 2000;
/** A connection on which nothing moves in either direction. Streams say something every few seconds, polls end sooner. */
const silenceMs = 65_000;
/** Of answers that are given here, where the app has no say. */
const headers = { ...securityHeaders, 'cache-control': 'no-store' };
/** How long requests under way may take once the server closes. */
const graceMs = 5000;

export async function startServer({
  app,
  host,
  port,
}: {
  app: { fetch(request: Request, env: HttpEnv['Bindings']): Response | Promise<Response> };
  host: string;
  port: number;
}): Promise<HttpServer> {
  const stopping = new AbortController();
  const listener = getRequestListener(
    (request, env) => app.fetch(request, { ...(env as HttpBindings), stopping: stopping.signal }),
    {
      hostname: host,
      // The request could not even be understood: a host or a path that is none.
      errorHandler: () =>
        new Problem('INVALID_ARGUMENT', 'The request cannot be understood.', { headers }).toResponse(),
      overrideGlobalObjects: false,
    },
  );
  /** How many requests each connection waits for. Browsers open some that they never use. */
  const connections = new Map<Socket, number>();
  const server = createServer({ ...parsing, ...timeouts }, (request, response) => {
    const { socket } = request;
    connections.set(socket, (connections.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (connections.get(socket) ?? 1) - 1;
      if (connections.has(socket)) connections.set(socket, left);
      if (left === 0 && stopping.signal.aborted) socket.end();
    });
    if (request.headers.host === undefined) refuseHostless(response);
    else void listener(request, response);
  });
  server.maxConnections = maxConnections;
  server.timeout = silenceMs;
  server.on('connection', (socket) => {
    connections.set(socket, 0);
    socket.once('close', () => connections.delete(socket));
  });
  // Whatever else is expected of us is not done; Node would refuse that, too, without a word.
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
      for (const [socket, waiting] of connections) if (waiting === 0) socket.destroy();
      stopping.abort();
      const giveUp = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearTimeout(giveUp);
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

/** Node gives up on a request before the app sees it. The answer is written by hand, in the same form as all others. */
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
    return new Problem('INVALID_ARGUMENT', 'The request did not come in, in time.', { status: 408 });
  return new Problem('INVALID_ARGUMENT', 'The request cannot be understood.');
}
