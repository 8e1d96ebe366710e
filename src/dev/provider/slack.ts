import {
  type ApiRequest,
  type ApiResponse,
  type ProviderApi,
  pageSize,
  type Refusal,
  sealNumbers,
  unsealNumbers,
} from './api.ts';
import { feedOf, type Item } from './feed.ts';
import { pick } from './random.ts';
import { messages, people } from './words.ts';

const slug = 'slack';

/** Newest first to `oldest` (see `inclusive`), errors with status 200. */
export const slack: ProviderApi = {
  slug,
  accountOf: (pathname, query) =>
    pathname === '/api/conversations.history' ? (query.get('channel') ?? undefined) : undefined,
  list,
  refuse,
};

function list({ account, query, nowMs }: ApiRequest): ApiResponse {
  const feed = feedOf(slug, account);
  const size = pageSize(query, 'limit', 100, 999);
  const cursor = query.get('cursor');
  const place = cursor ? unsealNumbers(cursor, 2) : [feed.newest(nowMs), startOf(asMs(query.get('oldest')))];
  if (!place) return failure('invalid_cursor');
  const [to, start] = place as [number, number];
  const from = Math.max(start, to - size + 1);
  const hasMore = from > start;
  return {
    status: 200,
    body: {
      ok: true,
      messages: feed.items(from, to).reverse().map(message),
      has_more: hasMore,
      response_metadata: { next_cursor: hasMore ? sealNumbers(from - 1, start) : '' },
    },
  };

  function startOf(oldestMs: number | undefined): number {
    if (oldestMs === undefined) return feed.backlogStart(nowMs);
    const first = feed.firstSince(query.get('inclusive') === 'true' ? oldestMs : oldestMs + 1);
    return Math.max(first, feed.oldestKept(nowMs));
  }
}

function message(item: Item) {
  // History has only replies also sent to the channel.
  const isReply = item.chance('reply') % 4 === 0;
  const thread_ts = `${item.atMs / 1000 - 60 - (item.chance('thread') % 600)}.000100`;
  return {
    type: 'message',
    ...(isReply && { subtype: 'thread_broadcast', thread_ts }),
    user: pick(people, item.chance('author')),
    text: pick(messages, item.chance('text')),
    ts: timestamp(item),
  };
}

const timestamp = (item: Item) =>
  `${item.atMs / 1000}.${String(item.chance('ts') % 1_000_000).padStart(6, '0')}`;

/** Items have whole seconds. */
function asMs(ts: string | null): number | undefined {
  const seconds = Number.parseInt(ts ?? '', 10);
  return Number.isNaN(seconds) ? undefined : seconds * 1000;
}

function refuse(refusal: Refusal): ApiResponse {
  switch (refusal.kind) {
    case 'unauthorized':
      return failure('invalid_auth');
    case 'broken':
      return { status: 500, body: { ok: false, error: 'internal_error' } };
    default:
      return {
        status: 429,
        headers: { 'retry-after': String(refusal.retryAfterSeconds) },
        body: { ok: false, error: 'ratelimited' },
      };
  }
}

const failure = (error: string): ApiResponse => ({ status: 200, body: { ok: false, error } });
