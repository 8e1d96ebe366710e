import { effect, untracked } from '@preact/signals';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { changes, toProblem } from './api.ts';
import { now } from './clock.ts';
import { lastPulse } from './live.ts';
import type { Problem } from './types.ts';

export interface Loaded<Data> {
  /** Kept while the next loads. */
  data: Data | undefined;
  problem: Problem | undefined;
  reload: () => void;
}

const slowdownWithoutPulse = 4;

/** After changes by this page and every `everyMs`, more rarely without a pulse. */
export function useRefresh(everyMs: number | undefined, refresh: (isChanged: boolean) => void): void {
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
      untracked(() => refresh(isChanged));
    });
  }, [everyMs, refresh]);
}

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
        if (controller.signal.aborted) return;
        inFlight.current = undefined;
        setState({ key, data });
      },
      (error: unknown) => {
        if (controller.signal.aborted) return;
        inFlight.current = undefined;
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: toProblem(error) }));
      },
    );
  }, [key]);
  const refresh = useCallback(
    (isChanged: boolean) => {
      // A response slower than the interval would never arrive.
      if (isChanged || !inFlight.current) reload();
    },
    [reload],
  );

  useEffect(() => {
    reload();
    return () => inFlight.current?.abort();
  }, [reload]);
  useRefresh(refreshMs, refresh);

  const own = state.key === key ? state : { key };
  return { data: own.data, problem: own.problem, reload };
}

export function useLatest<Data>(data: Data | undefined): Data | undefined {
  const latest = useRef(data);
  if (data !== undefined) latest.current = data;
  return latest.current;
}
