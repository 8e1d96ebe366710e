import { invalidArgument } from '../contract/errors.ts';
import type { Listed } from '../store/page-bytes.ts';
import { requireWhole, show } from '../values/arguments.ts';
import { maxPageItems } from '../values/limits.ts';
import { uuidPattern } from '../values/uuid.ts';

/** `nextCursor` is undefined on the last page. */
export interface Page<T> {
  /** May be short: rows read and bytes (about 8 MB) are bounded. */
  items: T[];
  nextCursor: string | undefined;
}

/** The page of a list; `cursor` is the `nextCursor` of the previous one. */
export interface PageRequest {
  cursor?: string | undefined;
  /** 1 to 100. */
  limit?: number | undefined;
}

const defaultLimit = 20;

export function pageLimit(limit: number | undefined): number {
  if (limit !== undefined) requireWhole('limit', limit, 1, maxPageItems);
  return limit ?? defaultLimit;
}

/** Cursors name their list; others reject them. */
type Key = readonly string[];

export function cursorTo(list: string, key: Key): string {
  return Buffer.from(JSON.stringify([list, ...key])).toString('base64url');
}

interface Part {
  test(text: string): boolean;
}

export function keyOf(list: string, cursor: string | undefined, parts: readonly Part[]): Key | undefined {
  if (cursor === undefined) return undefined;
  const key = parseKey(list, cursor, parts);
  if (!key)
    throw invalidArgument({
      field: 'cursor',
      expected: 'a cursor of this list',
      value: show(cursor),
      hint: 'Pass next_cursor of an earlier page, unchanged.',
    });
  return key;
}

/** Untrusted. Parts that a release `added` are all present or missing. */
export function parseKey(
  list: string,
  cursor: string,
  parts: readonly Part[],
  added: readonly Part[] = [],
): Key | undefined {
  const [name, ...key] = parse(cursor);
  const all = [...parts, ...added];
  const isValid =
    name === list &&
    (key.length === parts.length || key.length === all.length) &&
    key.every((part, i) => typeof part === 'string' && all[i]?.test(part));
  return isValid ? (key as string[]) : undefined;
}

function parse(cursor: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

export const uuidPart = uuidPattern;
const instant =
  /^(\d{4,6})-(0[1-9]|1[0-2])-(\d\d) ([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{1,6})?[+-](0\d|1[0-5])(:[0-5]\d){0,2}$/;
/** As Postgres writes it; impossible dates would be server errors. */
export const instantPart: Part = {
  test(text) {
    if (/^-?infinity$/.test(text)) return true;
    const [, year, month, day] = (instant.exec(text) ?? []).map(Number);
    if (!year || !month || !day || year > 294_275) return false;
    return day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  },
};

/** About 20 ms. A selective filter continues on the next page. */
export const maxScanned = 10_000;

/** `lastScanned`: where a scan without match stopped; undefined: at the end. */
export async function filteredPage<Row extends Listed>(
  list: string,
  items: Row[],
  keyOfRow: (row: Row) => Key,
  lastScanned: () => Promise<Key | undefined>,
): Promise<Page<Row>> {
  const last = items.at(-1);
  const key = last?.has_more ? keyOfRow(last) : await lastScanned();
  return { items, nextCursor: key && cursorTo(list, key) };
}

export async function filteredPageById<Row extends Listed & { id: string }>(
  list: string,
  { cursor, limit, filter }: { cursor: string | undefined; limit: number; filter: object },
  read: (from: string | undefined, bounds: { limit: number; scan: number }) => Promise<Row[]>,
  lastScanned: (from: string | undefined, scan: number) => Promise<string | undefined>,
): Promise<Page<Row>> {
  const from = keyOf(list, cursor, [uuidPart])?.[0];
  const rows = await read(from, { limit: limit + 1, scan: maxScanned });
  return filteredPage(
    list,
    rows,
    ({ id }) => [id],
    async () => {
      // Every row matches: if none follows, it is the last page.
      if (Object.values(filter).every((value) => value === undefined)) return undefined;
      const last = await lastScanned(from, maxScanned);
      return last === undefined ? undefined : [last];
    },
  );
}

export function mapPage<A, B>({ items, nextCursor }: Page<A>, map: (item: A) => B): Page<B> {
  return { items: items.map(map), nextCursor };
}

export function pageOf<Row extends Listed>(
  list: string,
  items: Row[],
  keyOfRow: (row: Row) => Key,
): Page<Row> {
  const last = items.at(-1);
  return { items, nextCursor: last?.has_more ? cursorTo(list, keyOfRow(last)) : undefined };
}
