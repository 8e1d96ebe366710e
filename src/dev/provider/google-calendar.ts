import {
  type ApiRequest,
  type ApiResponse,
  captured,
  type ProviderApi,
  pageSize,
  type Refusal,
  sealNumbers,
  unsealNumbers,
} from './api.ts';
import { feedOf, type Item } from './feed.ts';
import { pick } from './random.ts';
import { tokensValidSince } from './weather.ts';
import { meetings, people } from './words.ts';

const slug = 'google-calendar';

/** Page tokens, then a sync token, which expires with 410. */
export const googleCalendar: ProviderApi = {
  slug,
  accountOf: (pathname) => captured(/^\/calendars\/([^/]+)\/events$/, pathname),
  list,
  refuse,
};

function list({ account, query, nowMs }: ApiRequest): ApiResponse {
  const feed = feedOf(slug, account);
  const place = placeOf();
  if (!Array.isArray(place)) return place;
  const [from, newest] = place;
  const to = Math.min(newest, from + pageSize(query, 'maxResults', 250, 2500) - 1);
  const next =
    to < newest
      ? { nextPageToken: sealNumbers(to + 1, newest) }
      : { nextSyncToken: sealNumbers(newest, nowMs) };
  return {
    status: 200,
    body: { kind: 'calendar#events', summary: account, items: feed.items(from, to).map(event), ...next },
  };

  function placeOf(): [from: number, newest: number] | ApiResponse {
    const [pageToken, syncToken] = [query.get('pageToken'), query.get('syncToken')];
    if (pageToken) {
      const [from, newest] = unsealNumbers(pageToken, 2) ?? [];
      return from === undefined || newest === undefined
        ? problem(400, 'Invalid page token.')
        : [Math.max(from, feed.oldestKept(nowMs)), newest];
    }
    if (!syncToken) return [feed.backlogStart(nowMs), feed.newest(nowMs)];
    const [seen, issuedMs] = unsealNumbers(syncToken, 2) ?? [];
    if (seen === undefined || issuedMs === undefined) return problem(400, 'Invalid sync token.');
    const isGone = seen + 1 < feed.oldestKept(nowMs) || issuedMs < tokensValidSince(slug, account, nowMs);
    return isGone
      ? problem(410, 'Sync token is no longer valid, a full sync is required.')
      : [seen + 1, feed.newest(nowMs)];
  }
}

const hourMs = 3_600_000;

function event(item: Item) {
  const startMs = Math.ceil(item.atMs / hourMs + (item.chance('start') % 200)) * hourMs;
  const change = item.chance('change') % 4;
  const isNew = change > 1;
  const createdMs = isNew ? item.atMs : item.atMs - (1 + (item.chance('age') % 200)) * hourMs;
  return {
    kind: 'calendar#event',
    id: `ev${item.n.toString(32)}`,
    etag: `"${item.atMs}"`,
    status: change === 0 ? 'cancelled' : 'confirmed',
    sequence: isNew ? 0 : 1 + (item.chance('moved') % 3),
    summary: pick(meetings, item.chance('title')),
    organizer: { displayName: pick(people, item.chance('author')) },
    start: { dateTime: new Date(startMs).toISOString() },
    end: { dateTime: new Date(startMs + hourMs / 2).toISOString() },
    created: new Date(createdMs).toISOString(),
    updated: new Date(item.atMs).toISOString(),
  };
}

function refuse(refusal: Refusal): ApiResponse {
  switch (refusal.kind) {
    case 'unauthorized':
      return problem(401, 'Invalid Credentials');
    case 'broken':
      return problem(500, 'Backend Error');
    default:
      return {
        ...problem(429, 'Rate Limit Exceeded'),
        headers: { 'retry-after': String(refusal.retryAfterSeconds) },
      };
  }
}

const problem = (code: number, message: string): ApiResponse => ({
  status: code,
  body: { error: { code, message } },
});
