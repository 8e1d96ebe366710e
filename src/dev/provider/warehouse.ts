import {
  type ApiRequest,
  type ApiResponse,
  captured,
  type ProviderApi,
  pageSize,
  type Refusal,
} from './api.ts';
import { feedOf, type Item } from './feed.ts';
import { pick } from './random.ts';
import { people, tables } from './words.ts';

const slug = 'warehouse';

/** Old positions expire (410). */
export const warehouse: ProviderApi = {
  slug,
  accountOf: (pathname) => captured(/^\/databases\/(.+)\/changes$/, pathname),
  list,
  refuse,
};

function list({ account, pathname, query, baseUrl, nowMs }: ApiRequest): ApiResponse {
  const feed = feedOf(slug, account);
  const after = query.has('after') ? Number(query.get('after')) : feed.backlogStart(nowMs) - 1;
  if (!Number.isSafeInteger(after)) return { status: 400, body: { error: 'after must be a position' } };
  if (after + 1 < feed.oldestKept(nowMs))
    return { status: 410, body: { error: 'the changes after this position are no longer kept' } };
  const newest = feed.newest(nowMs);
  const limit = pageSize(query, 'limit', 100, 1000);
  const to = Math.min(newest, after + limit);
  const next = to < newest ? `${baseUrl}${pathname}?after=${to}&limit=${limit}` : null;
  return { status: 200, body: { changes: feed.items(after + 1, to).map(change), next } };
}

function change(item: Item) {
  const id = item.chance('id') % 100_000;
  const operation = pick(['insert', 'update', 'update', 'delete'], item.chance('operation'));
  return {
    position: item.n,
    committed_at: new Date(item.atMs).toISOString(),
    operation,
    table: pick(tables, item.chance('table')),
    row:
      operation === 'delete'
        ? { id }
        : {
            id,
            amount: (item.chance('amount') % 50_000) / 100,
            status: pick(['new', 'paid', 'sent', 'returned'], item.chance('status')),
            changed_by: pick(people, item.chance('author')),
          },
  };
}

function refuse(refusal: Refusal): ApiResponse {
  switch (refusal.kind) {
    case 'unauthorized':
      return { status: 401, body: { error: 'invalid token' } };
    case 'broken':
      return { status: 503, body: { error: 'the warehouse is restarting' } };
    default:
      return {
        status: 429,
        headers: { 'retry-after': String(refusal.retryAfterSeconds) },
        body: { error: 'too many requests' },
      };
  }
}
