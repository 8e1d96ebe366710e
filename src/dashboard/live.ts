import { signal } from '@preact/signals';
import { apiUrl, changes, type Query } from './api.ts';
import type { Signal } from './types.ts';

export type StreamState = 'connecting' | 'open' | 'lost';

interface Listener {
  onSignal?: (received: Signal) => void;
  onPulse?: () => void;
  /** Resumed behind the retention window. */
  onGap?: () => void;
  onState?: (state: StreamState) => void;
}

/** Reopens after error statuses: EventSource does not. */
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
      // The cursor may have expired.
      if (failures > 2) lastId = '';
      timer = setTimeout(open, Math.min(30_000, 1000 * 2 ** failures));
    };
    const on = (name: string, handle: (data: string) => void) =>
      source?.addEventListener(name, (event) => {
        lastId = event.lastEventId || lastId;
        handle(event.data);
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
    return undefined; // skip a malformed event
  }
}

export const lastPulse = signal(0);
export const liveState = signal<StreamState>('connecting');

/** Matches no signal: only pulses. */
const pulseOnly = { kind: '-' };

/** Browsers limit connections per server: closed while hidden. */
export function startPulse(): () => void {
  let close: (() => void) | undefined;
  let wasLost = false;
  const reconnect = () => {
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
  reconnect();
  document.addEventListener('visibilitychange', reconnect);
  return () => {
    document.removeEventListener('visibilitychange', reconnect);
    close?.();
  };
}
