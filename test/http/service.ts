import { connect } from 'node:net';
import { createApp } from '../../src/http/app.ts';
import type { AppOptions } from '../../src/http/context.ts';
import { type HttpServer, startServer } from '../../src/http/server.ts';
import type { Syncline, SynclineOptions } from '../../src/index.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { cleanUpAfterEach } from '../support/cleanup.ts';
import { silent, type TestDatabase } from '../support/database.ts';

/** A running service with its HTTP server and database. */
export interface Service {
  syncline: Syncline;
  server: HttpServer;
  url: string;
  /** An operator key. */
  key: string;
  /** Uses the operator key unless the request sets another. */
  call(path: string, request?: Call): Promise<Answer>;
}

export interface Call {
  method?: string;
  key?: string | undefined;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  body?: string | Uint8Array;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  body: Record<string, unknown> & { items: Record<string, unknown>[] };
}

const servers: HttpServer[] = [];
cleanUpAfterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

export async function startService(
  db: Pick<TestDatabase, 'engine'>,
  options: Partial<AppOptions> & { engine?: SynclineOptions } = {},
): Promise<Service> {
  const { engine, ...rest } = options;
  const syncline = db.engine(engine);
  const app = createApp({ syncline, log: silent, version: '1.2.3', loopDelayMs: () => 0, ...rest });
  const server = await startServer({ app, host: '127.0.0.1', port: 0, ports: systemPorts });
  servers.push(server);
  const key = await operatorKey(syncline);
  return {
    syncline,
    server,
    url: server.url,
    key,
    call: (path, request = {}) => call(server.url, path, key, request),
  };
}

/** The first key of a test is named `tests`; keys of earlier tests are revoked. */
async function operatorKey({ keys }: Syncline): Promise<string> {
  if (servers.length > 1) return (await keys.create({ name: `tests ${servers.length}` })).key;
  for (const { id, name, revokedAt } of (await keys.list({ limit: 100 })).items)
    if (/^tests( \d+)?$/.test(name) && !revokedAt) await keys.revoke(id);
  return (await keys.create({ name: 'tests' })).key;
}

/** Closes the server when the test ends. */
export function closeLater(server: HttpServer): HttpServer {
  servers.push(server);
  return server;
}

export async function call(
  url: string,
  path: string,
  defaultKey: string,
  request: Call = {},
): Promise<Answer> {
  const { method, json, body } = request;
  const key = 'key' in request ? request.key : defaultKey;
  const response = await fetch(`${url}${path}`, {
    redirect: 'manual',
    ...(method && { method }),
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...((body !== undefined || json !== undefined) && { body: body ?? JSON.stringify(json) }),
  } as RequestInit);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as Answer['body'],
  };
}

/** Sends raw bytes that `fetch` would not send; resolves with the whole response. */
export function raw(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(request, 'latin1'));
    let answer = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
    });
    socket.on('end', () => resolve(answer)).on('error', reject);
  });
}

/** The value of the session cookie set by a response. */
export function cookieOf({ headers }: Answer): string {
  return /syncline_session=([^;]*)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
}
