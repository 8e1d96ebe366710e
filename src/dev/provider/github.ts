import { createHash } from 'node:crypto';
import { type Answer, type Asked, captured, type ProviderApi, pageSize, type Refusal } from './api.ts';
import type { Budget } from './budget.ts';
import { feedOf, type Item } from './feed.ts';
import { pick } from './random.ts';
import { issueTitles, people, pullRequestTitles } from './words.ts';

const slug = 'github';

/** In the style of GitHub: numbered pages linked by a header, `since` (included), ETags, and a budget told in headers. */
export const github: ProviderApi = {
  slug,
  accountOf: (pathname) => captured(/^\/repos\/([^/]+\/[^/]+)\/issues$/, pathname),
  list,
  refuse,
};

function list({ account, query, headers, baseUrl, nowMs, budget }: Asked): Answer {
  const feed = feedOf(slug, account);
  const sinceMs = query.has('since') ? Date.parse(query.get('since') ?? '') : undefined;
  const page = Number(query.get('page') ?? 1);
  if (Number.isNaN(sinceMs) || !Number.isInteger(page) || page < 1)
    return { status: 422, body: { message: 'Validation Failed' } };

  const size = pageSize(query, 'per_page', 30, 100);
  const start =
    sinceMs === undefined
      ? feed.backlogStart(nowMs)
      : Math.max(feed.firstSince(sinceMs), feed.oldestKept(nowMs));
  const from = start + (page - 1) * size;
  const newest = feed.newest(nowMs);
  const items = feed.items(from, Math.min(newest, from + size - 1));
  const body = items.map((item) => issue(account, item));

  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 32)}"`;
  const common = { ...budgetHeaders(budget), etag };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common };
  if (from + size > newest) return { status: 200, headers: common, body };
  const next = new URLSearchParams(query);
  // A link must go on where this page ended, so it names the start also where the request left it open.
  next.set('since', isoSeconds(feed.items(start, start)[0]?.atMs ?? nowMs));
  next.set('page', String(page + 1));
  const link = `<${baseUrl}/repos/${account}/issues?${next}>; rel="next"`;
  return { status: 200, headers: { ...common, link }, body };
}

function issue(account: string, item: Item) {
  const number = item.n % 10_000;
  const updated_at = isoSeconds(item.atMs);
  const isPullRequest = item.chance('kind') % 3 === 0;
  const isClosed = item.chance('state') % 3 === 0;
  return {
    id: item.n,
    number,
    title: pick(isPullRequest ? pullRequestTitles : issueTitles, item.chance('title')),
    state: isClosed ? 'closed' : 'open',
    user: { login: pick(people, item.chance('author')) },
    comments: item.chance('comments') % 6,
    repository: account,
    updated_at,
    ...(isPullRequest && { pull_request: { merged_at: isClosed ? updated_at : null } }),
  };
}

function refuse(refusal: Refusal): Answer {
  switch (refusal.kind) {
    case 'unauthorized':
      return { status: 401, body: { message: 'Bad credentials' } };
    case 'broken':
      return { status: 500, body: { message: 'Server Error' } };
    case 'too fast':
      return {
        status: 429,
        headers: { 'retry-after': String(refusal.retryAfterSeconds) },
        body: { message: 'You have exceeded a secondary rate limit.' },
      };
    case 'spent':
      // Without retry-after: when to come back follows from the reset alone.
      return {
        status: 403,
        headers: budgetHeaders(refusal.budget),
        body: { message: 'API rate limit exceeded' },
      };
  }
}

function budgetHeaders({ limit, remaining, resetMs }: Budget): Record<string, string> {
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(resetMs / 1000)),
  };
}

const isoSeconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
