import { useEffect, useRef, useState } from 'preact/hooks';
import type { Query } from './api.ts';
import { listen, type StreamState } from './live.ts';
import { notify } from './parts/toast.tsx';
import type { Signal } from './types.ts';

export const maxSignals = 500;

const renderIntervalMs = 250;

interface Tail {
  shown: Signal[];
  /** Received while paused. */
  waiting: number;
  state: StreamState;
}

/** Newest first, buffered while paused. */
export function useTail(filter: Query, paused: boolean): Tail {
  const key = JSON.stringify(filter);
  const [tail, setTail] = useState<Tail & { key: string }>({ key, ...emptyTail });
  const isPaused = useRef(paused);
  isPaused.current = paused;

  useEffect(() => {
    let buffered: Signal[] = [];
    let waiting = 0;
    setTail({ key, ...emptyTail });
    const close = listen(JSON.parse(key), {
      onSignal: (received) => {
        buffered.unshift(received);
        waiting++;
        if (buffered.length > maxSignals) buffered.length = maxSignals;
      },
      onGap: () => notify('The live stream was interrupted. This list may lack signals.'),
      onState: (state) => setTail((before) => ({ ...before, state })),
    });
    const timer = setInterval(() => {
      if (isPaused.current || buffered.length === 0)
        setTail((before) => (before.waiting === waiting ? before : { ...before, waiting }));
      else {
        const added = buffered;
        buffered = [];
        waiting = 0;
        setTail((before) => ({
          ...before,
          shown: [...added, ...before.shown].slice(0, maxSignals),
          waiting: 0,
        }));
      }
    }, renderIntervalMs);
    return () => {
      clearInterval(timer);
      close();
    };
  }, [key]);

  return tail.key === key ? tail : emptyTail;
}

const emptyTail: Tail = { shown: [], waiting: 0, state: 'connecting' };
