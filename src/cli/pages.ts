import type { Page, PageRequest } from '../index.ts';

/** The API's maximum. */
const maxPageSize = 100;

export async function collect<T>(
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  list: (request: PageRequest) => Promise<Page<T>>,
): Promise<Page<T>> {
  const items: T[] = [];
  let next = cursor;
  do {
    const page = await list({ cursor: next, limit: Math.min(maxPageSize, limit - items.length) });
    items.push(...page.items);
    next = page.nextCursor;
  } while (next !== undefined && items.length < limit);
  return { items, nextCursor: next };
}
