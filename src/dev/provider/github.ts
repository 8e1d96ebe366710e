import { createHash } from 'node:crypto';
import {
  type ApiRequest,
  type ApiResponse,
  captured,
  type ProviderApi,
  pageSize,
  type Refusal,
} from './api.ts';
import type { Budget } from './budget.ts';
import { feedOf, type Item } from './feed.ts';
import { pick } from './random.ts';
import { issueTitles, people, pullRequestTitles } from './words.ts';

const slug = 'github';

/** Link header, inclusive `since`, ETags, rate limit headers. */
export const github: ProviderApi = {
  slug,
  accountOf: (pathname) => captured(/^\/repos\/([^/]+\/[^/]+)\/(?:issues|pulls)$/, pathname),
  list: (request) => (request.pathname.endsWith('/pulls') ? pullRequests(request) : issues(request)),
  refuse,
};

/** Oldest change first. Includes pull requests. */
function issues(request: ApiRequest): ApiResponse {
  const { account, query, nowMs } = request;
  const feed = feedOf(slug, account);
  const sinceMs = query.has('since') ? Date.parse(query.get('since') ?? '') : undefined;
  const place = placeOf(query);
  if (Number.isNaN(sinceMs) || !place) return invalid;
  const start =
    sinceMs === undefined
      ? feed.backlogStart(nowMs)
      : Math.max(feed.firstSince(sinceMs), feed.oldestKept(nowMs));
  const from = start + place.skipped;
  const newest = feed.newest(nowMs);
  const items = feed.items(from, Math.min(newest, from + place.size - 1));
  // Must continue this list without `since`, too.
  const since = isoSeconds(feed.items(start, start)[0]?.atMs ?? nowMs);
  const next = from + place.size > newest ? undefined : { since, page: place.page + 1 };
  return page(
    request,
    items.map((item) => issue(account, item)),
    next,
  );
}

/** Newest change first; no `since`. */
function pullRequests(request: ApiRequest): ApiResponse {
  const { account, query, nowMs } = request;
  const feed = feedOf(slug, account);
  const place = placeOf(query);
  if (!place) return invalid;
  const all = feed.items(feed.backlogStart(nowMs), feed.newest(nowMs)).filter(isPullRequest).reverse();
  const to = place.skipped + place.size;
  const items = all.slice(place.skipped, to).map((item) => pullRequest(account, item));
  return page(request, items, to < all.length ? { page: place.page + 1 } : undefined);
}

function placeOf(query: URLSearchParams) {
  const page = Number(query.get('page') ?? 1);
  const size = pageSize(query, 'per_page', 30, 100);
  return Number.isInteger(page) && page >= 1 ? { page, size, skipped: (page - 1) * size } : undefined;
}

const invalid: ApiResponse = { status: 422, body: { message: 'Validation Failed' } };

function page(
  request: ApiRequest,
  body: unknown[],
  next: Record<string, string | number> | undefined,
): ApiResponse {
  const { query, headers, baseUrl, pathname, budget } = request;
  const etag = `"${createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 32)}"`;
  const common = { ...budgetHeaders(budget), etag };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common };
  if (!next) return { status: 200, headers: common, body };
  const linked = new URLSearchParams(query);
  for (const [name, value] of Object.entries(next)) linked.set(name, String(value));
  return { status: 200, headers: { ...common, link: `<${baseUrl}${pathname}?${linked}>; rel="next"` }, body };
}

const isPullRequest = (item: Item) => item.chance('kind') % 3 === 0;

const isMerged = (item: Item) => isClosed(item) && item.chance('merged') % 4 > 0;
const isClosed = (item: Item) => item.chance('state') % 3 === 0;

function issue(account: string, item: Item) {
  if (!isPullRequest(item)) return { ...shared(account, item, 'issues'), title: titleOf(item, issueTitles) };
  const { merged_at, ...pull } = pullRequest(account, item);
  return { ...pull, pull_request: { merged_at } };
}

function pullRequest(account: string, item: Item) {
  const number = item.chance('branch') % 1000;
  return {
    ...shared(account, item, 'pull'),
    title: titleOf(item, pullRequestTitles),
    draft: false,
    head: { ref: `change-${number}`, sha: createHash('sha1').update(`${account} ${item.n}`).digest('hex') },
    base: { ref: 'main' },
    merged_at: isMerged(item) ? isoSeconds(item.atMs) : null,
  };
}

const titleOf = (item: Item, titles: readonly string[]) => pick(titles, item.chance('title'));

const minuteMs = 60_000;

function shared(account: string, item: Item, path: string) {
  const number = item.n % 10_000;
  const updated_at = isoSeconds(item.atMs);
  const isNew = !isClosed(item) && item.chance('new') % 3 > 0;
  const ageMs = (1 + (item.chance('age') % 600)) * minuteMs;
  return {
    id: item.n,
    number,
    state: isClosed(item) ? 'closed' : 'open',
    user: { login: pick(people, item.chance('author')) },
    comments: item.chance('comments') % 6,
    html_url: `https://github.example/${account}/${path}/${number}`,
    created_at: isNew ? updated_at : isoSeconds(item.atMs - ageMs),
    updated_at,
    closed_at: isClosed(item) ? updated_at : null,
  };
}

function refuse(refusal: Refusal): ApiResponse {
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
      // Clients must use x-ratelimit-reset.
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
    'x-ratelimit-resource': 'core',
  };
}

const isoSeconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
