import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';

export interface Item {
  id: number;
  title: string;
  status: string;
  updated_at: string;
  version: number;
  deleted: boolean;
}

export interface ApiOptions {
  /** `link_pages` puts page numbers into the links, `link` puts tokens there. */
  pagination: 'none' | 'link' | 'link_pages' | 'next_url' | 'cursor' | 'page' | 'offset';
  sort?: 'ascending' | 'descending' | 'none';
  since?: 'inclusive' | 'exclusive' | 'unknown';
  sinceAs?: 'iso' | 'epoch_seconds' | 'date';
  pageSize?: number;
  /** With POST, all parameters are in the body. */
  method?: 'GET' | 'POST';
  token?: string;
  etags?: boolean;
}

export interface Override {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
}

export interface JsonApi {
  readonly url: string;
  readonly items: Item[];
  readonly requests: string[];
  options: ApiOptions;
  /** Called before each response, with the number of the request. */
  before: (request: number, target: URL) => Override | undefined;
  /** Groups of `tied` items share a time. */
  fill(count: number, tied?: number): void;
  /** Sets `updated_at` one second after the latest change. */
  edit(id: number, change?: Partial<Item>): void;
  add(): Item;
  /** Deletes without a tombstone; later items move up. */
  remove(id: number): void;
}

const startMs = Date.parse('2025-01-01T00:00:00Z');
const knownParameters = ['since', 'page', 'per_page', 'offset', 'limit', 'after'];

/** APIs that reject unknown parameters. */
export function useJsonApis(): (options: ApiOptions) => Promise<JsonApi> {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });
  return async (options) => {
    const { api, stop } = await startJsonApi(options);
    stops.push(stop);
    return api;
  };
}

async function startJsonApi(options: ApiOptions): Promise<{ api: JsonApi; stop: () => Promise<void> }> {
  let items: Item[] = [];
  let clock = 0;
  /** Ids are never reused. */
  let lastId = 0;
  const at = (seconds: number) => new Date(startMs + seconds * 1000).toISOString().replace('.000Z', 'Z');
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api: JsonApi = {
    url,
    get items() {
      return items;
    },
    requests: [],
    options,
    before: () => undefined,
    fill(count, tied = 1) {
      items = Array.from({ length: count }, (_, i) => createItem(i + 1, Math.floor(i / tied)));
      clock = Math.ceil(count / tied);
      lastId = count;
    },
    edit(id, change = {}) {
      const item = items.find((candidate) => candidate.id === id);
      if (!item) throw new Error(`there is no item ${id}`);
      Object.assign(item, { version: item.version + 1, updated_at: at(++clock) }, change);
    },
    add() {
      const added = createItem(++lastId, ++clock);
      items.push(added);
      return added;
    },
    remove(id) {
      items = items.filter((candidate) => candidate.id !== id);
    },
  };
  const createItem = (id: number, second: number): Item => ({
    id,
    title: `item ${id}`,
    status: id % 2 ? 'open' : 'closed',
    updated_at: at(second),
    version: 1,
    deleted: false,
  });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', url);
    const body = await bodyOf(request);
    api.requests.push(`${request.url}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`);
    const override = api.before(api.requests.length, target);
    if (override) return send(response, override);
    const { status, headers, body: answer } = answerTo(request, target, body);
    send(response, { status, ...(headers && { headers }), body: answer });
  }

  function answerTo(
    request: IncomingMessage,
    target: URL,
    body: Record<string, unknown> | undefined,
  ): Override {
    const { method = 'GET', token, etags } = api.options;
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`)
      return { status: 401, body: { error: 'bad token' } };
    if (request.method !== method) return { status: 405, body: { error: 'method' } };
    if (target.pathname !== '/v1/items') return { status: 404, body: { error: `no ${target.pathname}` } };
    const parameters = new Map(
      body ? Object.entries(body).map(([name, value]) => [name, String(value)]) : target.searchParams,
    );
    const unknown = [...parameters.keys()].filter((name) => !knownParameters.includes(name));
    if (unknown.length > 0) return { status: 400, body: { error: `unknown ${unknown}` } };
    const answer = pageOf(target, parameters);
    if (!etags || answer.status !== 200) return answer;
    const etag = `"${Buffer.from(JSON.stringify(answer.body)).toString('base64url').slice(-40)}${JSON.stringify(answer.body).length}"`;
    if (request.headers['if-none-match'] === etag) return { status: 304 };
    return { ...answer, headers: { ...answer.headers, etag } };
  }

  function pageOf(target: URL, parameters: ReadonlyMap<string, string>): Override {
    const { pagination, since: sinceRule = 'inclusive', pageSize = 10 } = api.options;
    const size = Math.min(
      Number(parameters.get('per_page') ?? parameters.get('limit') ?? pageSize),
      pageSize,
    );
    const since = parameters.get('since');
    if (since !== undefined && sinceRule === 'unknown')
      return { status: 400, body: { error: 'unknown since' } };
    const sinceMs = since === undefined ? undefined : timeOf(since);
    if (Number.isNaN(sinceMs)) return { status: 400, body: { error: `since ${since}` } };
    const list = sorted().filter(({ updated_at }) => {
      if (sinceMs === undefined) return true;
      const ms = Date.parse(updated_at);
      return sinceRule === 'inclusive' ? ms >= sinceMs : ms > sinceMs;
    });
    const whole = { status: 200, body: { data: { items: list } } };
    if (pagination === 'none') return whole;
    if (pagination === 'page' || pagination === 'offset' || pagination === 'link_pages') {
      const page = Number(parameters.get('page') ?? 1);
      const offset = pagination === 'offset' ? Number(parameters.get('offset') ?? 0) : (page - 1) * size;
      const records = list.slice(offset, offset + size);
      const next = new URL(target);
      next.searchParams.set('page', String(page + 1));
      return {
        status: 200,
        body: { data: { items: records }, total: list.length },
        ...(pagination === 'link_pages' &&
          offset + size < list.length && { headers: { link: `<${next.href}>; rel="next"` } }),
      };
    }
    const after = parameters.get('after');
    const start = after === undefined ? 0 : list.findIndex((candidate) => isAfter(candidate, after));
    const records = start === -1 ? [] : list.slice(start, start + size);
    const last = records.at(-1);
    const hasMore = last !== undefined && list.indexOf(last) < list.length - 1;
    const token = hasMore ? tokenOf(last) : undefined;
    const next = new URL(target);
    if (token) next.searchParams.set('after', token);
    return {
      status: 200,
      body: {
        data: { items: records },
        ...(pagination === 'cursor' && { meta: { next: token ?? null, has_more: hasMore } }),
        ...(pagination === 'next_url' && { paging: { next: token ? next.href : null } }),
      },
      ...(pagination === 'link' &&
        token && { headers: { link: `<${next.pathname}${next.search}>; rel="next"` } }),
    };
  }

  function sorted(): Item[] {
    const { sort = 'ascending' } = api.options;
    const byId = (a: Item, b: Item) => a.id - b.id;
    if (sort === 'none')
      return [...items].sort((a, b) => ((a.id * 7919) % 1009) - ((b.id * 7919) % 1009) || byId(a, b));
    const ascending = [...items].sort((a, b) => a.updated_at.localeCompare(b.updated_at) || byId(a, b));
    return sort === 'ascending' ? ascending : ascending.reverse();
  }

  /** A position in the order: valid even if the item changes or is deleted. */
  const tokenOf = ({ updated_at, id }: Item) =>
    Buffer.from(JSON.stringify([updated_at, id])).toString('base64url');

  function isAfter(item: Item, token: string): boolean {
    const { sort = 'ascending' } = api.options;
    const [updatedAt, id] = JSON.parse(Buffer.from(token, 'base64url').toString()) as [string, number];
    if (sort === 'none') {
      const rank = (n: number) => (n * 7919) % 1009;
      return rank(item.id) > rank(id) || (rank(item.id) === rank(id) && item.id > id);
    }
    const order = item.updated_at.localeCompare(updatedAt) || item.id - id;
    return sort === 'ascending' ? order > 0 : order < 0;
  }

  function timeOf(since: string): number {
    const { sinceAs = 'iso' } = api.options;
    if (sinceAs === 'epoch_seconds') return /^\d+$/.test(since) ? Number(since) * 1000 : Number.NaN;
    if (sinceAs === 'date') return /^\d{4}-\d\d-\d\d$/.test(since) ? Date.parse(since) : Number.NaN;
    return /T.*Z$/.test(since) ? Date.parse(since) : Number.NaN;
  }

  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { api, stop };
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  let text = '';
  for await (const chunk of request) text += chunk;
  return text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
}

function send(response: ServerResponse, { status, headers, body }: Override): void {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
