import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

/** What a local provider was asked. */
export interface Asked {
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
  /** Writes the body itself. */
  write?: (response: ServerResponse) => void;
}

const servers = new Set<Server>();
afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers.clear();
});

/** A server on a free port of this machine; stopped when the test ends. */
export async function startLocalServer(answer: (asked: Asked) => Reply): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://provider');
    const { method = 'GET', headers } = request;
    const reply = answer({ method, path: url.pathname, query: url.searchParams, headers });
    send(response, reply);
  });
  servers.add(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function send(response: ServerResponse, { status = 200, headers = {}, body, write }: Reply): void {
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  response.writeHead(status, { ...(!isRaw && { 'content-type': 'application/json' }), ...headers });
  if (write) write(response);
  else response.end(body === undefined ? '' : isRaw ? body : JSON.stringify(body));
}
