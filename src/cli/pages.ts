import type { Page, PageRequest } from '../index.ts';
import { plainJson, stripControl } from '../values/terminal-text.ts';
import { cut, printResult, table, write } from './output.ts';

/** The API's maximum. */
const maxPageSize = 100;

type List<T> = (request: PageRequest) => Promise<Page<T>>;

interface Range {
  limit: number;
  cursor?: string | undefined;
}

async function* pagesOf<T>({ limit, cursor }: Range, list: List<T>): AsyncGenerator<Page<T>, void> {
  let next = cursor;
  let left = limit;
  do {
    const page = await list({ cursor: next, limit: Math.min(maxPageSize, left) });
    yield page;
    left -= page.items.length;
    next = page.nextCursor;
  } while (next !== undefined && left > 0);
}

/** For small items. */
export async function collect<T>(range: Range, list: List<T>): Promise<Page<T>> {
  const items: T[] = [];
  let nextCursor: string | undefined;
  for await (const page of pagesOf(range, list)) {
    items.push(...page.items);
    nextCursor = page.nextCursor;
  }
  return { items, nextCursor };
}

interface ListOutput<T> {
  /** Of the array in the JSON output. */
  name: string;
  jsonOf: (item: T) => unknown;
  head: string[];
  cellsOf: (item: T) => string[];
  /** Truncates the last column. */
  width?: number;
  /** Printed instead of an empty table. */
  empty: string;
  /** Also prints the cursor of the next page. */
  withCursor?: boolean;
}

/** Prints or truncates a page, which may hold 8 MB, before it reads the next. */
export async function printList<T>(
  { json, ...range }: Range & { json: boolean | undefined },
  list: List<T>,
  output: ListOutput<T>,
): Promise<void> {
  await (json ? printJson : printTable)(pagesOf(range, list), output);
}

/** The same text as `printResult`. */
async function printJson<T>(
  pages: AsyncIterable<Page<T>>,
  { name, jsonOf, withCursor = false }: ListOutput<T>,
): Promise<void> {
  let before = `{${JSON.stringify(name)}:[`;
  let isEmpty = true;
  let next: string | undefined;
  for await (const { items, nextCursor } of pages) {
    next = nextCursor;
    for (const item of items) {
      await write(`${before}${plainJson(jsonOf(item))}`);
      before = ',';
      isEmpty = false;
    }
  }
  const cursor = withCursor ? `,"next_cursor":${JSON.stringify(next ?? null)}` : '';
  await write(`${isEmpty ? before : ''}]${cursor}}\n`);
}

/** Ids and times stay whole on a narrow terminal; `table` truncates the last column. */
const minCellWidth = 160;

/** A slice keeps the whole string in memory. */
const copyOf = (text: string) => Buffer.from(text).toString();

async function printTable<T>(
  pages: AsyncIterable<Page<T>>,
  { head, cellsOf, width = Number.POSITIVE_INFINITY, empty, withCursor = false }: ListOutput<T>,
): Promise<void> {
  const rows: string[][] = [];
  const cellWidth = Math.max(width, minCellWidth);
  let next: string | undefined;
  for await (const { items, nextCursor } of pages) {
    next = nextCursor;
    for (const item of items)
      rows.push(cellsOf(item).map((cell) => copyOf(cut(stripControl(cell), cellWidth))));
  }
  const more = withCursor && next !== undefined ? [`More: --cursor ${next}`] : [];
  printResult(false, undefined, () =>
    rows.length === 0 ? [empty] : [...table([head, ...rows], { width }), ...more],
  );
}
