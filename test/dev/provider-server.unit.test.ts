import { describe, expect, it } from 'vitest';
import { createBudgets } from '../../src/dev/provider/budget.ts';
import { feedOf, paceSeconds } from '../../src/dev/provider/feed.ts';
import { revokedHolder, tokenOf } from '../../src/dev/provider/tokens.ts';
import { tokensValidSince } from '../../src/dev/provider/weather.ts';
import { startProviderServer } from '../../src/dev/provider-server.ts';
import { calmMinutes, holder, momentOf, useProviders } from '../support/provider-server.ts';

const providers = useProviders();

const accounts = [
  ['github', 'acme/app', '/repos/acme/app/issues?'],
  ['slack', 'CACMEHELP', '/api/conversations.history?channel=CACMEHELP&'],
  ['google-calendar', 'team@acme.example', '/calendars/team%40acme.example/events?'],
  ['warehouse', 'acme/shop', '/databases/acme/shop/changes?'],
] as const;
type Provider = (typeof accounts)[number][0];

function accountOf(name: Provider) {
  const [provider, account, path] = accounts.find(([slug]) => slug === name) ?? accounts[0];
  return { provider, account, path, feed: feedOf(provider, account) };
}

/** Starts a server in a period without failures. */
async function serve(name: Provider, minutes = 5) {
  const { provider, account, path, feed } = accountOf(name);
  providers.nowMs = calmMinutes(minutes, provider, account);
  const { url, broken } = await providers.start();
  const authorization = `Bearer ${tokenOf(provider, holder)}`;
  const get = (query = '', headers: Record<string, string> = {}) =>
    fetch(`${url}/${provider}${path}${query}`, { headers: { authorization, ...headers } });
  const follow = (link: string) => fetch(link, { headers: { authorization } });
  const json = async <T>(query = '') => (await (await get(query)).json()) as T;
  return { url, account, feed, get, follow, json, broken };
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('GitHub API', () => {
  it('GitHub API: next links page through the backlog in order while items are added', async () => {
    const { feed, get, follow } = await serve('github');
    const oldest = feed.backlogStart(providers.nowMs);
    const seen: number[] = [];
    let pages = 0;
    let response = await get('per_page=30');
    for (;;) {
      expect(response.status).toBe(200);
      const issues = (await response.json()) as { id: number }[];
      seen.push(...issues.map(({ id }) => id));
      pages++;
      const next = /<(.+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      if (!next) break;
      providers.nowMs += 20_000;
      response = await follow(next);
    }
    expect(pages).toBeGreaterThan(3);
    expect(seen).toEqual(range(oldest, feed.newest(providers.nowMs)));
  });

  it('GitHub API: since is inclusive', async () => {
    const { feed, json } = await serve('github');
    const [third, , newest] = feed.items(feed.newest(providers.nowMs) - 2, feed.newest(providers.nowMs));
    const issues = await json<{ id: number }[]>(`since=${new Date(third?.atMs ?? 0).toISOString()}`);
    expect(issues.map(({ id }) => id)).toEqual(range(third?.n ?? 0, newest?.n ?? 0));
  });

  it('GitHub API: If-None-Match returns 304 until an item is added', async () => {
    const { feed, get } = await serve('github');
    const newest = feed.newest(providers.nowMs);
    const since = `since=${new Date(feed.items(newest, newest)[0]?.atMs ?? 0).toISOString()}`;
    const etag = (await get(since)).headers.get('etag') ?? '';
    const unchanged = await get(since, { 'if-none-match': etag });
    expect({ status: unchanged.status, text: await unchanged.text() }).toEqual({ status: 304, text: '' });
    providers.nowMs = feed.items(newest + 1, newest + 1)[0]?.atMs ?? 0;
    expect((await get(since, { 'if-none-match': etag })).status).toBe(200);
  });

  it('GitHub API: pull requests are listed newest first, paged, and also as issues', async () => {
    const { url, account, get, follow } = await serve('github');
    const issues = (await (await get('per_page=100')).json()) as { id: number; pull_request?: object }[];
    const found: { id: number; updated_at: string; merged_at: string | null }[] = [];
    let link: string | undefined = `${url}/github/repos/${account}/pulls?per_page=20`;
    while (link) {
      const response = await follow(link);
      found.push(...((await response.json()) as typeof found));
      link = /<(.+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
    }
    const times = found.map(({ updated_at }) => updated_at);
    expect(times).toEqual(times.toSorted().reverse());
    expect(new Set(times).size).toBeGreaterThan(20);
    expect(found.some(({ merged_at }) => merged_at)).toBe(true);
    const pullRequestIds = issues.filter((issue) => issue.pull_request).map(({ id }) => id);
    expect(found.map(({ id }) => id)).toEqual(expect.arrayContaining(pullRequestIds));
    expect(pullRequestIds.length).toBeLessThan(issues.length);
  });

  it('GitHub API: rate limit headers count all requests of a token', async () => {
    const { url, account, get, follow } = await serve('github');
    const left = ({ headers }: Response) => Number(headers.get('x-ratelimit-remaining'));
    const first = await get();
    expect(left(first)).toBe(Number(first.headers.get('x-ratelimit-limit')) - 1);
    expect(left(await follow(`${url}/github/repos/${account}/pulls`))).toBe(left(first) - 1);
    expect(Number(first.headers.get('x-ratelimit-reset')) * 1000).toBeGreaterThan(providers.nowMs);
  });

  it('GitHub API: an exhausted quota returns 403 with a reset time and no Retry-After', async () => {
    const { account } = accountOf('github');
    providers.nowMs = momentOf('spent', 'github', account);
    const { url } = await providers.start();
    const authorization = `Bearer ${tokenOf('github', holder)}`;
    const refused = await fetch(`${url}/github/repos/${account}/issues`, { headers: { authorization } });
    expect(refused.status).toBe(403);
    expect(refused.headers.get('x-ratelimit-remaining')).toBe('0');
    expect(refused.headers.has('retry-after')).toBe(false);
    expect(Number(refused.headers.get('x-ratelimit-reset')) * 1000).toBeGreaterThan(providers.nowMs);
    expect(Date.parse(refused.headers.get('date') ?? '')).toBe(providers.nowMs);
  });

  it('GitHub API: quotas are per token and reset every hour', () => {
    const { take } = createBudgets();
    const { limit = 0 } = take('a', 0) ?? {};
    for (let i = 1; i < limit; i++) take('a', 0);
    expect(take('a', 0)).toBeUndefined();
    expect(take('b', 0)?.remaining).toBe(limit - 1);
    expect(take('a', 3_600_000)).toEqual({ limit, remaining: limit - 1, resetMs: 7_200_000 });
  });
});

describe('Slack API', () => {
  interface History {
    messages: { ts: string }[];
    response_metadata: { next_cursor: string };
  }

  it('Slack API: cursors page from newest to oldest while messages are added', async () => {
    const { feed, json } = await serve('slack');
    const [oldest, newest] = [feed.backlogStart(providers.nowMs), feed.newest(providers.nowMs)];
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = await json<History>(`limit=50&cursor=${cursor}`);
      seen.push(...page.messages.map(({ ts }) => ts));
      cursor = page.response_metadata.next_cursor;
      providers.nowMs += 10_000;
    } while (cursor !== '');
    expect(seen).toHaveLength(newest - oldest + 1);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  });

  it('Slack API: oldest is exclusive unless inclusive=true', async () => {
    const { json } = await serve('slack');
    const all = await json<History>('limit=200');
    const third = all.messages[2]?.ts;
    const page = await json<History>(`oldest=${third}`);
    expect(page.messages).toEqual(all.messages.slice(0, 2));
    const inclusive = await json<History>(`oldest=${third}&inclusive=true`);
    expect(inclusive.messages).toEqual(all.messages.slice(0, 3));
  });
});

describe('Google Calendar API', () => {
  interface Events {
    items: { id: string }[];
    nextPageToken?: string;
    nextSyncToken?: string;
  }

  async function walk(json: <T>(query?: string) => Promise<T>, query = '') {
    const seen: string[] = [];
    for (let token = query; ; ) {
      const page = await json<Events>(token);
      seen.push(...page.items.map(({ id }) => id));
      if (page.nextSyncToken) return { seen, syncToken: page.nextSyncToken };
      token = `pageToken=${page.nextPageToken}`;
    }
  }

  it('Google Calendar API: page tokens end with a sync token, which returns later changes', async () => {
    const { feed, json } = await serve('google-calendar');
    const [oldest, newest] = [feed.backlogStart(providers.nowMs), feed.newest(providers.nowMs)];
    const id = (n: number) => `ev${n.toString(32)}`;
    const first = await walk(json);
    expect(first.seen).toEqual(range(oldest, newest).map(id));
    providers.nowMs += 60_000;
    const later = feed.newest(providers.nowMs);
    expect(later).toBeGreaterThan(newest);
    expect((await walk(json, `syncToken=${first.syncToken}`)).seen).toEqual(range(newest + 1, later).map(id));
  });

  it('Google Calendar API: sync tokens expire; tokens issued afterwards are valid', async () => {
    const { account, get, json } = await serve('google-calendar');
    const { syncToken } = await walk(json);
    const issuedMs = providers.nowMs;
    while (tokensValidSince('google-calendar', account, providers.nowMs) <= issuedMs) providers.nowMs += 1000;
    expect(providers.nowMs - issuedMs).toBeLessThan(6 * 3_600_000);
    providers.nowMs = momentOf(undefined, 'google-calendar', account, providers.nowMs);
    expect((await get(`syncToken=${syncToken}`)).status).toBe(410);
    const fresh = await walk(json);
    expect((await get(`syncToken=${fresh.syncToken}`)).status).toBe(200);
  });

  it('Google Calendar API: an unknown token returns 400', async () => {
    const { get } = await serve('google-calendar');
    expect((await get('syncToken=abc')).status).toBe(400);
    expect((await get('pageToken=abc')).status).toBe(400);
  });
});

describe('warehouse API', () => {
  interface Changes {
    changes: { position: number }[];
    next: string | null;
  }

  it('warehouse API: lists changes after a position with a link to the next page', async () => {
    const { feed, json, follow } = await serve('warehouse');
    const newest = feed.newest(providers.nowMs);
    const first = await json<Changes>(`after=${newest - 5}&limit=3`);
    expect(first.changes.map(({ position }) => position)).toEqual(range(newest - 4, newest - 2));
    expect(first.next).toContain(`?after=${newest - 2}&limit=3`);
    const rest = (await (await follow(first.next ?? '')).json()) as Changes;
    expect(rest.changes.map(({ position }) => position)).toEqual([newest - 1, newest]);
    expect(rest.next).toBeNull();
    expect(await json<Changes>(`after=${newest}`)).toEqual({ changes: [], next: null });
  });

  it('warehouse API: a position older than the retention returns 410', async () => {
    const { feed, get } = await serve('warehouse');
    const oldest = feed.oldestKept(providers.nowMs);
    expect((await get(`after=${oldest - 1}`)).status).toBe(200);
    expect((await get(`after=${oldest - 2}`)).status).toBe(410);
  });
});

describe('all providers', () => {
  it.each(accounts)(
    'provider server: %s rejects a missing or foreign token',
    async (provider, account, path) => {
      providers.nowMs = calmMinutes(1, provider, account);
      const { url } = await providers.start();
      for (const authorization of ['', `Bearer ${tokenOf('another', holder)}`, `Bearer demo-${holder}`]) {
        const response = await fetch(`${url}/${provider}${path}`, { headers: { authorization } });
        const body = (await response.json()) as { ok?: boolean; error?: unknown };
        if (provider === 'slack') expect(body).toEqual({ ok: false, error: 'invalid_auth' });
        else expect(response.status).toBe(401);
      }
    },
  );

  it.each(accounts)('provider server: errors of %s are temporary', async (provider, account, path) => {
    providers.nowMs = momentOf('broken', provider, account);
    const { url } = await providers.start();
    const get = () =>
      fetch(`${url}/${provider}${path}`, {
        headers: { authorization: `Bearer ${tokenOf(provider, holder)}` },
      });
    expect((await get()).status).toBeGreaterThanOrEqual(500);
    providers.nowMs = momentOf(undefined, provider, account, providers.nowMs);
    expect((await get()).status).toBe(200);
  });

  it.each(accounts)(
    'provider server: %s accepts requests again after Retry-After',
    async (provider, account, path) => {
      providers.nowMs = momentOf('too fast', provider, account);
      const { url } = await providers.start();
      const get = () =>
        fetch(`${url}/${provider}${path}`, {
          headers: { authorization: `Bearer ${tokenOf(provider, holder)}` },
        });
      const refused = await get();
      expect(refused.status).toBe(429);
      const seconds = Number(refused.headers.get('retry-after'));
      expect(seconds).toBeGreaterThanOrEqual(1);
      providers.nowMs = momentOf(undefined, provider, account, providers.nowMs + (seconds - 1) * 1000);
      expect((await get()).status).toBe(200);
    },
  );

  it.each(accounts)(
    'provider server: responses of %s depend only on the clock',
    async (provider, _account, path) => {
      const servers = [await providers.start(), await providers.start()];
      const statuses = new Set<number>();
      for (let minute = 0; minute < 40; minute++) {
        providers.nowMs = Date.parse('2026-03-02T09:00:00Z') + minute * 15_000;
        const answers = await Promise.all(
          servers.map(async ({ url }) => {
            const headers = { authorization: `Bearer ${tokenOf(provider, holder)}` };
            const response = await fetch(`${url}/${provider}${path}`, { headers });
            const link = response.headers.get('link')?.replace(url, '');
            const body = (await response.text()).replace(url, '');
            return { status: response.status, link, body };
          }),
        );
        expect(answers[0]).toEqual(answers[1]);
        statuses.add(answers[0]?.status ?? 0);
      }
      expect(statuses).toContain(200);
    },
  );

  it('provider server: most accounts change every few seconds, a few every few minutes', () => {
    const paces = range(1, 200).map((i) => paceSeconds('github', `acme/app-${i}`));
    const quiet = paces.filter((seconds) => seconds > 12);
    expect(Math.min(...paces)).toBeGreaterThanOrEqual(4);
    expect(quiet.length).toBeGreaterThan(0);
    expect(quiet.length).toBeLessThan(40);
  });

  it('provider server: latency is 20 to 400 ms', async () => {
    const { get } = await serve('github');
    providers.latencies.length = 0;
    for (let i = 0; i < 50; i++, providers.nowMs += 1000) await get();
    expect(Math.min(...providers.latencies)).toBeGreaterThanOrEqual(20);
    expect(Math.max(...providers.latencies)).toBeLessThanOrEqual(400);
    expect(new Set(providers.latencies).size).toBeGreaterThan(20);
  });
});

describe('the server', () => {
  it('provider server: revokes the token of one holder only', async () => {
    const account = 'acme/app';
    providers.nowMs = 0;
    const { url } = await providers.start();
    const statusFor = async (tokenHolder: string) => {
      const headers = { authorization: `Bearer ${tokenOf('github', tokenHolder)}` };
      return (await fetch(`${url}/github/repos/${account}/issues`, { headers })).status;
    };
    expect(await statusFor(revokedHolder)).not.toBe(401);
    providers.nowMs += 100_000;
    expect(await statusFor(revokedHolder)).toBe(401);
    expect(await statusFor(holder)).not.toBe(401);
  });

  it('provider server: listens on loopback only and serves only its lists', async () => {
    const { url, account } = await serve('github');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const path of [
      '/',
      '/github',
      '/github/repos',
      '/gitlab/repos/a/b/issues',
      '/warehouse/databases/%/changes',
    ])
      expect((await fetch(`${url}${path}`)).status).toBe(404);
    const written = await fetch(`${url}/github/repos/${account}/issues`, { method: 'POST', body: 'x' });
    expect(written.status).toBe(405);
  });

  it.each(['github', 'slack', 'google-calendar', 'warehouse'] as const)(
    'provider server: %s answers every request with a server error while it is broken',
    async (provider) => {
      const { get, broken } = await serve(provider);
      broken.add(provider);
      expect((await get()).status).toBeGreaterThanOrEqual(500);
      broken.delete(provider);
      expect((await get()).status).toBe(200);
    },
  );

  it('provider server: stop() aborts pending requests immediately', async () => {
    let onRequest = () => {};
    const requested = new Promise<void>((resolve) => {
      onRequest = resolve;
    });
    const server = await startProviderServer({
      now: () => 0,
      sleep: (_ms, signal) => {
        onRequest();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
    });
    const answer = fetch(`${server.url}/github/repos/a/b/issues`).then(
      () => 'answered',
      () => 'cut off',
    );
    await requested;
    await server.stop();
    expect(await answer).toBe('cut off');
    await expect(fetch(server.url)).rejects.toThrow();
  });
});
