import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { cleanUpAfterEach } from '../cleanup.ts';

export interface ProviderRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
}

export interface Reply {
  status?: number;
  headers?: Record<string, string>;
  /** Sent as JSON unless it is text or bytes. */
  body?: unknown;
  write?: (response: ServerResponse) => void;
}

const servers = new Set<Server>();
cleanUpAfterEach(stopServers);

export function stopServers(): void {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers.clear();
}

/** Starts a server on a free local port; stopped at the end of the test. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.add(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Like `serve`, for a synchronous request handler. */
export function startLocalServer(answer: (request: ProviderRequest) => Reply): Promise<string> {
  return serve((request, response) => {
    const url = new URL(request.url ?? '/', 'http://provider');
    const { method = 'GET', headers } = request;
    send(response, answer({ method, path: url.pathname, query: url.searchParams, headers }));
  });
}

function send(response: ServerResponse, { status = 200, headers = {}, body, write }: Reply): void {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  response.writeHead(status, { ...(!isRaw && { 'content-type': 'application/json' }), ...headers });
  if (write) write(response);
  else response.end(body === undefined ? '' : isRaw ? body : JSON.stringify(body));
}
