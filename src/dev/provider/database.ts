import { type Answer, type Asked, captured, type ProviderApi, pageSize, type Refusal } from './api.ts';
import { feedOf, type Item } from './feed.ts';
import { pick } from './random.ts';
import { people, tables } from './words.ts';

const slug = 'postgres';

/** A database's stream of changes: a position in, what was committed after it out. Old positions are gone (410). */
export const database: ProviderApi = {
  slug,
  accountOf: (pathname) => captured(/^\/databases\/(.+)\/changes$/, pathname),
  list,
  refuse,
};

function list({ account, query, nowMs }: Asked): Answer {
  const feed = feedOf(slug, account);
  const after = query.has('after') ? Number(query.get('after')) : feed.backlogStart(nowMs) - 1;
  if (!Number.isSafeInteger(after)) return { status: 400, body: { error: 'after must be a position' } };
  if (after + 1 < feed.oldestKept(nowMs))
    return { status: 410, body: { error: 'the changes after this position are no longer kept' } };
  const newest = feed.newest(nowMs);
  const to = Math.min(newest, after + pageSize(query, 'limit', 100, 1000));
  return {
    status: 200,
    body: { changes: feed.items(after + 1, to).map(change), more: to < newest },
  };
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

function refuse(refusal: Refusal): Answer {
  switch (refusal.kind) {
    case 'unauthorized':
      return { status: 401, body: { error: 'password authentication failed' } };
    case 'broken':
      return { status: 503, body: { error: 'the database is restarting' } };
    default:
      return {
        status: 429,
        headers: { 'retry-after': String(refusal.retryAfterSeconds) },
        body: { error: 'too many connections' },
      };
  }
}
