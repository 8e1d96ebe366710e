import { signal } from '@preact/signals';
import { apiUrl, changes, type Query } from './api.ts';
import type { Signal } from './types.ts';

export type Connectedness = 'connecting' | 'open' | 'lost';

interface Listener {
  onSignal?: (received: Signal) => void;
  onPulse?: () => void;
  /** The stream came back too late: something that came in meanwhile is no longer to be had from it. */
  onGap?: () => void;
  onState?: (state: Connectedness) => void;
}

/**
 * Listens to the live stream until the returned function is called. The browser resumes a stream that broke by itself;
 * one that the server refused for a moment (a restart, too many streams) is opened again here, from where it was.
 */
export function listen(filter: Query, { onSignal, onPulse, onGap, onState }: Listener): () => void {
  let source: EventSource | undefined;
  let lastId = '';
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const open = () => {
    onState?.('connecting');
    source = new EventSource(apiUrl('v1/live', { ...filter, after: lastId }));
    source.onopen = () => {
      failures = 0;
      onState?.('open');
    };
    source.onerror = () => {
      onState?.('lost');
      if (source?.readyState !== EventSource.CLOSED) return;
      failures++;
      // The place may have become too old to go on from.
      if (failures > 2) lastId = '';
      timer = setTimeout(open, Math.min(30_000, 1000 * 2 ** failures));
    };
    // Every event says where in the feed the stream is.
    const on = (name: string, heard: (data: string) => void) =>
      source?.addEventListener(name, (event) => {
        lastId = event.lastEventId || lastId;
        heard(event.data);
      });
    on('hello', (data) => {
      if (parse<{ gap?: boolean }>(data)?.gap) onGap?.();
    });
    on('pulse', () => onPulse?.());
    on('signal', (data) => {
      const received = parse<Signal>(data);
      if (received) onSignal?.(received);
    });
  };

  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

function parse<Data>(data: string): Data | undefined {
  try {
    return JSON.parse(data) as Data;
  } catch {
    return undefined; // one broken line must not end the stream
  }
}

/** When the server last said that it is alive and that numbers may have changed. */
export const lastPulse = signal(0);
export const liveState = signal<Connectedness>('connecting');

/** No signal has this kind: the stream then carries the pulse alone, however much comes in. */
const pulseOnly = { kind: '-' };

/** One stream for the whole app. It is closed while nobody looks: browsers allow few connections to one server. */
export function startPulse(): () => void {
  let close: (() => void) | undefined;
  let wasLost = false;
  const follow = () => {
    close?.();
    close = undefined;
    if (document.visibilityState !== 'visible') return;
    close = listen(pulseOnly, {
      onPulse: () => {
        lastPulse.value = Date.now();
      },
      onState: (state) => {
        if (state === 'open' && wasLost) changes.value++;
        wasLost = state !== 'open' && (wasLost || state === 'lost');
        liveState.value = state;
      },
    });
  };
  follow();
  document.addEventListener('visibilitychange', follow);
  return () => {
    document.removeEventListener('visibilitychange', follow);
    close?.();
  };
}
