import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { get, type Query, toProblem } from './api.ts';
import { useRefresh } from './query.ts';
import type { Page, Problem } from './types.ts';

export interface List<Item> {
  items: Item[];
  hasMore: boolean;
  loading: boolean;
  pristine: boolean;
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
  pristine: boolean;
  problem?: Problem;
}

const defaultPageSize = 50;
/** Filtered pages may be empty. */
const maxPagesPerLoad = 8;

interface Options {
  refreshMs?: number;
  pageSize?: number;
}

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
  const refreshing = useRef<AbortController | undefined>(undefined);

  const read = useCallback(
    async (start: State<Item>) => {
      inFlight.current?.abort();
      const controller = new AbortController();
      inFlight.current = controller;
      let { items, cursor, pages } = start;
      setState({ key, items, cursor, pages, loading: true, pristine: start.pristine });
      try {
        const targetLength = items.length + pageSize;
        for (let turn = 0; turn < maxPagesPerLoad; turn++) {
          const query = { ...latest.current.filter, limit: pageSize, cursor };
          const page = await get<Page<Item>>(path, query, controller.signal);
          items = mergeUnique(items, page.items, latest.current.idOf);
          cursor = page.next_cursor;
          pages++;
          const loading = cursor !== null && items.length < targetLength && turn + 1 < maxPagesPerLoad;
          setState({ key, items, cursor, pages, loading, pristine: false });
          if (!loading) return;
        }
      } catch (error) {
        if (controller.signal.aborted) return;
        setState({ key, items, cursor, pages, loading: false, pristine: false, problem: toProblem(error) });
      }
    },
    [key, path, pageSize],
  );

  const reload = useCallback(() => void read(empty(key)), [read, key]);
  const loadMore = useCallback(() => void read(latest.current.current), [read]);

  const refresh = useCallback(
    async (isChanged: boolean) => {
      const { current: shown, filter, idOf: id } = latest.current;
      if (shown.loading || shown.pristine || (refreshing.current && !isChanged)) return;
      refreshing.current?.abort();
      const controller = new AbortController();
      refreshing.current = controller;
      const query = { ...filter, limit: pageSize };
      const page = await get<Page<Item>>(path, query, controller.signal).catch(() => undefined);
      if (controller.signal.aborted) return;
      refreshing.current = undefined;
      if (!page) return; // keep the current items; the next refresh retries
      setState((before) => {
        if (before.key !== key || before.loading) return before;
        const { problem: _cleared, ...rest } = before;
        if (before.pages <= 1) return { ...rest, items: page.items, cursor: page.next_cursor };
        return { ...rest, items: mergeUnique(page.items, before.items, id) };
      });
    },
    [key, path, pageSize],
  );

  useEffect(() => {
    reload();
    return () => inFlight.current?.abort();
  }, [reload]);
  useRefresh(refreshMs, refresh);

  const { items, cursor, loading, pristine, problem } = current;
  return { items, hasMore: cursor !== null, loading, pristine, problem, loadMore, reload };
}

function empty<Item>(key: string): State<Item> {
  return { key, items: [], cursor: null, pages: 0, loading: true, pristine: true };
}

/** Rows may move between pages. */
function mergeUnique<Item>(before: Item[], added: Item[], idOf: (item: Item) => string): Item[] {
  const ids = new Set(before.map(idOf));
  return [...before, ...added.filter((item) => !ids.has(idOf(item)))];
}
