import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { get, type Query, toProblem } from './api.ts';
import { useRefresh } from './query.ts';
import type { Page, Problem } from './types.ts';

export interface List<Item> {
  items: Item[];
  /** There may be more. */
  more: boolean;
  loading: boolean;
  /** Nothing has been answered yet. */
  fresh: boolean;
  problem: Problem | undefined;
  loadMore: () => void;
  reload: () => void;
}

interface State<Item> {
  key: string;
  items: Item[];
  cursor: string | null;
  pages: number;
  loading: boolean;
  fresh: boolean;
  problem?: Problem;
}

const defaultPageSize = 50;
/** A filter may answer with short or empty pages. So many in a row are read before the reader is asked to go on. */
const pagesInARow = 8;

interface Options {
  refreshMs?: number;
  pageSize?: number;
}

/** A list that is read page by page. What is shown already is kept up to date in place. */
export function useList<Item>(
  path: string,
  filter: Query,
  idOf: (item: Item) => string,
  { refreshMs, pageSize = defaultPageSize }: Options = {},
): List<Item> {
  const key = path + JSON.stringify(filter);
  const [state, setState] = useState<State<Item>>(() => empty(key));
  const current = state.key === key ? state : empty<Item>(key);
  const latest = useRef({ current, filter, idOf });
  latest.current = { current, filter, idOf };
  const inFlight = useRef<AbortController | undefined>(undefined);

  const read = useCallback(
    async (start: State<Item>) => {
      inFlight.current?.abort();
      const controller = new AbortController();
      inFlight.current = controller;
      let { items, cursor, pages } = start;
      setState({ key, items, cursor, pages, loading: true, fresh: start.fresh });
      try {
        const wanted = items.length + pageSize;
        for (let turn = 0; turn < pagesInARow; turn++) {
          const query = { ...latest.current.filter, limit: pageSize, cursor };
          const page = await get<Page<Item>>(path, query, controller.signal);
          items = joined(items, page.items, latest.current.idOf);
          cursor = page.next_cursor;
          pages++;
          const loading = cursor !== null && items.length < wanted && turn + 1 < pagesInARow;
          setState({ key, items, cursor, pages, loading, fresh: false });
          if (!loading) return;
        }
      } catch (error) {
        if (controller.signal.aborted) return;
        setState({ key, items, cursor, pages, loading: false, fresh: false, problem: toProblem(error) });
      }
    },
    [key, path, pageSize],
  );

  const reload = useCallback(() => void read(empty(key)), [read, key]);
  const loadMore = useCallback(() => void read(latest.current.current), [read]);

  const refresh = useCallback(async () => {
    const { current: shown, filter: wanted, idOf: id } = latest.current;
    if (shown.loading || shown.fresh) return;
    const page = await get<Page<Item>>(path, { ...wanted, limit: pageSize }).catch(() => undefined);
    if (!page) return; // the next round tries again; what is shown stays
    setState((before) => {
      if (before.key !== key || before.loading) return before;
      const { problem: _solved, ...rest } = before;
      if (before.pages <= 1) return { ...rest, items: page.items, cursor: page.next_cursor };
      return { ...rest, items: joined(page.items, before.items, id) };
    });
  }, [key, path, pageSize]);

  useEffect(() => {
    reload();
    return () => inFlight.current?.abort();
  }, [reload]);
  useRefresh(refreshMs, refresh);

  const { items, cursor, loading, fresh, problem } = current;
  return { items, more: cursor !== null, loading, fresh, problem, loadMore, reload };
}

function empty<Item>(key: string): State<Item> {
  return { key, items: [], cursor: null, pages: 0, loading: true, fresh: true };
}

/** Rows may move between two pages while they are read; none is to be shown twice. */
function joined<Item>(before: Item[], added: Item[], idOf: (item: Item) => string): Item[] {
  const known = new Set(before.map(idOf));
  return [...before, ...added.filter((item) => !known.has(idOf(item)))];
}
