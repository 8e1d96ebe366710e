import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import type { Delivery } from '../../../src/contract/webhook.ts';
import { createRepository, type FakeRepository } from './github-repository.ts';
import { replyOf } from './github-routes.ts';

/** A local GitHub API with the documented behaviour. */
export interface FakeGithub {
  url: string;
  /** In whole seconds; moves only if set. */
  nowMs: number;
  tick(seconds: number): void;
  repository(name: string): FakeRepository;
  /** Renames a repository; the old name redirects. */
  move(from: string, to: string): void;
  readonly requests: { path: string; status: number; token: string | undefined }[];
  /** Hourly limit per token, and its usage. */
  limit: number;
  used(token?: string): number;
  revoke(token: string): void;
  /** Replaces the response if it returns a value. */
  trouble: ((path: string, n: number) => Trouble | undefined) | undefined;
  /** Called after a response is computed and before it is sent. */
  beforeSend: ((path: string, n: number) => void) | undefined;
  /** Smaller than 100, for many pages with few items. */
  maxPerPage: number;
}

export interface Trouble {
  status: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Counts against the hourly limit; default true. */
  isCounted?: boolean;
}
type Answer = Trouble & { body: unknown };

const anonymousLimit = 60;

/** Stopped at the end of the test. */
export function useGithub(): () => Promise<FakeGithub> {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    await Promise.all(stops.splice(0).map((stop) => stop()));
  });
  return async () => {
    const { github, stop } = await startGithub();
    stops.push(stop);
    return github;
  };
}

async function startGithub(): Promise<{ github: FakeGithub; stop: () => Promise<void> }> {
  const repositories = new Map<string, FakeRepository>();
  const moved = new Map<string, number>();
  const windows = new Map<string, { used: number; resetsAtMs: number }>();
  const revoked = new Set<string>();

  const github: FakeGithub = {
    url: '',
    nowMs: Date.parse('2026-03-02T09:00:00Z'),
    tick: (seconds) => {
      github.nowMs += seconds * 1000;
    },
    repository: (name) => {
      const known = repositories.get(name.toLowerCase());
      if (known) return known;
      const made = createRepository(repositories.size + 1, name, () => isoSeconds(github.nowMs));
      repositories.set(name.toLowerCase(), made);
      return made;
    },
    move: (from, to) => {
      const repository = github.repository(from);
      repositories.delete(from.toLowerCase());
      repositories.set(to.toLowerCase(), repository);
      moved.set(from.toLowerCase(), repository.id);
      repository.name = to;
    },
    requests: [],
    limit: 5000,
    used: (token = '') => windowOf(token).used,
    revoke: (token) => void revoked.add(token),
    trouble: undefined,
    beforeSend: undefined,
    maxPerPage: 100,
  };

  /** The window of an hour, which starts with its first request. */
  function windowOf(token: string) {
    const current = windows.get(token);
    if (current && current.resetsAtMs > github.nowMs) return current;
    const fresh = { used: 0, resetsAtMs: github.nowMs + 3_600_000 };
    windows.set(token, fresh);
    return fresh;
  }

  function answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '/';
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    const n = github.requests.length + 1;
    const {
      status,
      headers = {},
      body,
      isCounted = true,
    } = answerTo(request, new URL(path, github.url), token, n);
    const window = windowOf(token ?? '');
    if (isCounted) window.used++;
    github.requests.push({ path, status, token });
    response.writeHead(status, {
      'content-type': 'application/json; charset=utf-8',
      date: new Date(github.nowMs).toUTCString(),
      'x-ratelimit-limit': String(limitOf(token)),
      'x-ratelimit-remaining': String(Math.max(0, limitOf(token) - window.used)),
      'x-ratelimit-used': String(window.used),
      'x-ratelimit-reset': String(window.resetsAtMs / 1000),
      'x-ratelimit-resource': 'core',
      ...headers,
    });
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    github.beforeSend?.(path, n);
    response.end(status === 304 ? undefined : text);
  }

  const limitOf = (token: string | undefined) => (token ? github.limit : anonymousLimit);

  function answerTo({ headers }: IncomingMessage, url: URL, token: string | undefined, n: number): Answer {
    const trouble = github.trouble?.(`${url.pathname}${url.search}`, n);
    if (trouble) return { body: { message: 'Trouble' }, ...trouble };
    if (token && revoked.has(token))
      return { status: 401, body: { message: 'Bad credentials' }, isCounted: false };
    if (windowOf(token ?? '').used >= limitOf(token))
      return { status: 403, body: { message: 'API rate limit exceeded for user ID 1.' }, isCounted: false };

    const [, isNamed, name = '', number, rest = ''] =
      /^\/(?:(repos)\/([^/]+\/[^/]+)|repositories\/(\d+))\/(.+)$/.exec(url.pathname) ?? [];
    const movedTo = isNamed ? moved.get(name.toLowerCase()) : undefined;
    if (movedTo !== undefined) {
      const location = `${github.url}/repositories/${movedTo}/${rest}${url.search}`;
      return { status: 301, headers: { location }, body: { message: 'Moved Permanently' } };
    }
    const repository = isNamed
      ? repositories.get(name.toLowerCase())
      : [...repositories.values()].find(({ id }) => String(id) === number);
    if (!repository) return { status: 404, body: { message: 'Not Found' } };

    const reply = replyOf(repository, rest, url.searchParams, headers.accept ?? '');
    if (reply.status !== 200) return reply;
    const { body, link } = reply.pages ? paged(url, reply.pages) : { body: reply.body, link: undefined };
    const hash = createHash('sha256')
      .update(`${token} ${JSON.stringify(body)}`)
      .digest('hex');
    const etag = `W/"${hash}"`;
    if (headers['if-none-match'] === etag)
      return { status: 304, headers: { etag }, body: undefined, isCounted: token === undefined };
    return { status: 200, headers: { etag, ...(link && { link }) }, body };
  }

  function paged(url: URL, { items, show }: NonNullable<ReturnType<typeof replyOf>['pages']>) {
    const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100, github.maxPerPage);
    const number = Number(url.searchParams.get('page') ?? 1);
    const last = Math.ceil(items.length / size);
    const linked = (page: number, relation: string) => {
      const to = new URL(url);
      to.searchParams.set('page', String(page));
      return `<${to.href}>; rel="${relation}"`;
    };
    const links = [
      ...(number > 1 ? [linked(number - 1, 'prev')] : []),
      ...(number < last ? [linked(number + 1, 'next'), linked(last, 'last')] : []),
      ...(number > 1 ? [linked(1, 'first')] : []),
    ];
    return {
      body: show(items.slice((number - 1) * size, number * size), number),
      link: links.length > 0 ? links.join(', ') : undefined,
    };
  }

  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  github.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { github, stop };
}

export function delivered(event: string, body: unknown, secret: string): Delivery {
  const text = Buffer.from(JSON.stringify(body));
  const signature = createHmac('sha256', secret).update(text).digest('hex');
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body: text,
  };
}

const isoSeconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
