import { effect, untracked } from '@preact/signals';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { changes, toProblem } from './api.ts';
import { now } from './clock.ts';
import { lastPulse } from './live.ts';
import type { Problem } from './types.ts';

export interface Loaded<Data> {
  /** The newest answer; it stays while the next one is fetched, so that nothing flickers. */
  data: Data | undefined;
  problem: Problem | undefined;
  reload: () => void;
}

/** Without a pulse from the server, fresh data is asked for this many times less often. */
const slowdownWithoutPulse = 4;

/** Calls back at once when something was changed from here, and about every so often: with the server's pulse while the stream is there, by the clock when it is not. */
export function useRefresh(everyMs: number | undefined, refresh: () => void): void {
  useEffect(() => {
    if (everyMs === undefined) return;
    let lastMs = Date.now();
    let lastChanges = changes.peek();
    return effect(() => {
      const nowMs = now.value;
      const isChanged = changes.value !== lastChanges;
      const dueMs = lastPulse.peek() > lastMs ? everyMs : everyMs * slowdownWithoutPulse;
      if (!isChanged && nowMs - lastMs < dueMs) return;
      lastMs = nowMs;
      lastChanges = changes.value;
      untracked(refresh);
    });
  }, [everyMs, refresh]);
}

/** Fetches when the key changes, again on reload() and, if wanted, whenever the data may have changed. */
export function useQuery<Data>(
  key: string,
  fetcher: (signal: AbortSignal) => Promise<Data>,
  refreshMs?: number,
): Loaded<Data> {
  const [state, setState] = useState<{ key: string; data?: Data; problem?: Problem }>({ key });
  const latest = useRef(fetcher);
  latest.current = fetcher;
  const inFlight = useRef<AbortController | undefined>(undefined);

  const reload = useCallback(() => {
    inFlight.current?.abort();
    const controller = new AbortController();
    inFlight.current = controller;
    latest.current(controller.signal).then(
      (data) => {
        if (!controller.signal.aborted) setState({ key, data });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: toProblem(error) }));
      },
    );
  }, [key]);

  useEffect(() => {
    reload();
    return () => inFlight.current?.abort();
  }, [reload]);
  useRefresh(refreshMs, reload);

  // What belongs to another key is not shown under this one.
  const own = state.key === key ? state : { key };
  return { data: own.data, problem: own.problem, reload };
}

/** What was there last, while the next is on its way: for views where another range is no reason to go blank. */
export function useLatest<Data>(data: Data | undefined): Data | undefined {
  const latest = useRef(data);
  if (data !== undefined) latest.current = data;
  return latest.current;
}
