import { useEffect, useRef, useState } from 'preact/hooks';
import type { Query } from './api.ts';
import { type Connectedness, listen } from './live.ts';
import { notify } from './parts/toast.tsx';
import type { Signal } from './types.ts';

/** Rows in the page; older ones leave it. */
export const keptAtMost = 500;

/** So often the page is drawn, however fast signals come in. */
const drawEveryMs = 250;

interface Tail {
  shown: Signal[];
  /** Arrived, and not shown because the tail is held. */
  waiting: number;
  state: Connectedness;
}

/** What comes in, newest first, in batches. While held, it gathers out of sight. */
export function useTail(filter: Query, held: boolean): Tail {
  const key = JSON.stringify(filter);
  const [tail, setTail] = useState<Tail & { key: string }>({ key, ...nothing });
  const isHeld = useRef(held);
  isHeld.current = held;

  useEffect(() => {
    let gathered: Signal[] = [];
    let waiting = 0;
    setTail({ key, ...nothing });
    const close = listen(JSON.parse(key), {
      onSignal: (received) => {
        gathered.unshift(received);
        waiting++;
        if (gathered.length > keptAtMost) gathered.length = keptAtMost;
      },
      onGap: () => notify('The stream was away for long: some signals that came in meanwhile are not shown.'),
      onState: (state) => setTail((before) => ({ ...before, state })),
    });
    const timer = setInterval(() => {
      if (isHeld.current || gathered.length === 0)
        setTail((before) => (before.waiting === waiting ? before : { ...before, waiting }));
      else {
        const added = gathered;
        gathered = [];
        waiting = 0;
        setTail((before) => ({
          ...before,
          shown: [...added, ...before.shown].slice(0, keptAtMost),
          waiting: 0,
        }));
      }
    }, drawEveryMs);
    return () => {
      clearInterval(timer);
      close();
    };
  }, [key]);

  return tail.key === key ? tail : nothing;
}

const nothing: Tail = { shown: [], waiting: 0, state: 'connecting' };
