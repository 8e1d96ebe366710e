import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import type { ApiResponse, ProviderApi, Refusal } from './provider/api.ts';
import { createBudgets } from './provider/budget.ts';
import { github } from './provider/github.ts';
import { googleCalendar } from './provider/google-calendar.ts';
import { slack } from './provider/slack.ts';
import { holderOf } from './provider/tokens.ts';
import { warehouse } from './provider/warehouse.ts';
import { latencyMs, type Trouble, troubleAt } from './provider/weather.ts';

export interface ProviderServer {
  /** APIs are at `<url>/<slug>`. */
  url: string;
  broken: Set<string>;
  stop(): Promise<void>;
}

const apis = new Map<string, ProviderApi>(
  [github, slack, googleCalendar, warehouse].map((api) => [api.slug, api]),
);

/** Responses depend only on account, time, the hour's requests and broken providers. */
export async function startProviderServer(ports: Pick<Ports, 'now' | 'sleep'>): Promise<ProviderServer> {
  const startedMs = ports.now();
  const budgets = createBudgets();
  const broken = new Set<string>();

  async function respond(
    request: IncomingMessage,
    baseUrl: string,
    abortSignal: AbortSignal,
  ): Promise<ApiResponse> {
    const url = new URL(request.url ?? '/', baseUrl);
    const [, slug = '', pathname = ''] = /^\/([^/]+)(\/.*)$/.exec(url.pathname) ?? [];
    const api = apis.get(slug);
    const account = api?.accountOf(pathname, url.searchParams);
    if (!api || !account) return { status: 404, body: { error: 'not found' } };
    if (request.method !== 'GET')
      return { status: 405, headers: { allow: 'GET' }, body: { error: 'only GET is served' } };

    await ports.sleep(latencyMs(slug, account, ports.now()), abortSignal);
    if (broken.has(slug)) return api.refuse({ kind: 'broken' });
    const nowMs = ports.now();
    const holder = holderOf(slug, request.headers.authorization, nowMs - startedMs);
    if (holder === undefined) return api.refuse({ kind: 'unauthorized' });
    const budget = budgets.take(`${slug}/${holder}`, nowMs);
    if (!budget) return api.refuse(exhausted(budgets.windowEnd(nowMs), nowMs));
    const refusal = refusalOf(troubleAt(slug, { holder, account }, nowMs), nowMs);
    if (refusal) return api.refuse(refusal);
    return api.list({
      account,
      pathname,
      query: url.searchParams,
      headers: request.headers,
      baseUrl: `${baseUrl}/${slug}`,
      nowMs,
      budget,
    });
  }

  function refusalOf(trouble: Trouble | undefined, nowMs: number): Refusal | undefined {
    switch (trouble?.kind) {
      case 'broken':
        return { kind: 'broken' };
      case 'too fast':
        return { kind: 'too fast', retryAfterSeconds: secondsUntil(trouble.untilMs, nowMs) };
      case 'spent':
        return exhausted(trouble.untilMs, nowMs);
      default:
        return undefined;
    }
  }

  const exhausted = (untilMs: number, nowMs: number): Refusal => ({
    kind: 'spent',
    retryAfterSeconds: secondsUntil(untilMs, nowMs),
    budget: budgets.spent(untilMs),
  });

  function send(response: ServerResponse, { status, headers, body }: ApiResponse): void {
    const text = body === undefined ? '' : JSON.stringify(body);
    response.writeHead(status, {
      // Clients compute rate limit resets from it.
      date: new Date(ports.now()).toUTCString(),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    });
    response.end(text);
  }

  const server = createServer((request, response) => {
    const closed = new AbortController();
    response.once('close', () => closed.abort());
    request.resume();
    respond(request, url, closed.signal)
      .catch((error: unknown): ApiResponse => ({ status: 400, body: { error: describeError(error) } }))
      .then((result) => send(response, result));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    url,
    broken,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export async function withProviderServer<T>(
  ports: Pick<Ports, 'now' | 'sleep'>,
  work: (server: ProviderServer) => Promise<T>,
): Promise<T> {
  const server = await startProviderServer(ports);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

const secondsUntil = (ms: number, nowMs: number) => Math.max(1, Math.ceil((ms - nowMs) / 1000));
