import type { Logger } from 'pino';
import { describeError, SynclineError } from '../contract/errors.ts';
import { feedSignalJson, type SynclineApi } from '../index.ts';
import { startLoop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import type { LiveTimes, RequestCaller } from './context.ts';
import { type EventStream, streamBufferBytes } from './event-stream.ts';
import type { Pulses } from './pulse.ts';

export const defaultLiveTimes: LiveTimes = { pulseMs: 2000, heartbeatMs: 15_000 };

const waitMs = 10_000;
const pageSize = 100;
const retryMs = 2000;

interface LiveFilter {
  connectionId?: string;
  provider?: string;
  kind?: string;
  tenantId?: string;
}

export interface LiveOptions {
  view: SynclineApi;
  caller: RequestCaller;
  filter: LiveFilter;
  signal: AbortSignal;
  end(): void;
  stream: EventStream;
  pulses: Pulses;
  times: LiveTimes;
  ports: Ports;
  version: string;
  log: Logger;
}

/** Before the stream: an invalid cursor gets an error status. */
export async function startingPoint(
  { view, filter }: Pick<LiveOptions, 'view' | 'filter'>,
  { lastEventId, after }: { lastEventId: string | undefined; after: string },
): Promise<{ after: string; gap: boolean }> {
  try {
    return { after: await resolveCursor(lastEventId ?? after), gap: false };
  } catch (error) {
    // EventSource does not reconnect after an error status.
    if (!(error instanceof SynclineError) || error.code !== 'EXPIRED') throw error;
    return { after: await resolveCursor('latest'), gap: true };
  }

  /** Only `latest` advances: no signal is skipped. */
  async function resolveCursor(from: string): Promise<string> {
    const { nextCursor } = await view.signals.read({ ...filter, after: from, limit: 1, payload: false });
    return from === 'latest' ? nextCursor : from;
  }
}

export async function runLive(options: LiveOptions, start: { after: string; gap: boolean }): Promise<void> {
  const { view, filter, signal, stream, ports, version, log } = options;
  let cursor = start.after;
  const idOf = (text: string) => (text === 'beginning' ? undefined : text);
  const at = new Date(ports.now()).toISOString();
  stream.trySend({
    event: 'hello',
    id: idOf(cursor),
    retry: retryMs,
    data: { at, version, cursor: idOf(cursor) ?? null, gap: start.gap },
  });
  const stopPulse = keepAlive(options, () => idOf(cursor));
  try {
    while (!signal.aborted) {
      const page = await view.signals.read({
        ...filter,
        after: cursor,
        limit: pageSize,
        maxBytes: streamBufferBytes,
        waitMs,
        signal,
      });
      for (const item of page.items) {
        if (signal.aborted) return;
        await stream.send({
          event: 'signal',
          id: item.cursor,
          data: feedSignalJson(item),
        });
        cursor = item.cursor;
      }
      cursor = page.nextCursor;
    }
  } catch (error) {
    // The client reconnects.
    if (!signal.aborted) log.debug(`live stream ended: ${describeError(error)}`);
  } finally {
    stopPulse();
    stream.close();
  }
}

/** Ends if access was revoked, or the buffer was full at two heartbeats in a row. */
function keepAlive(
  { view, caller, end, stream, pulses, times, ports }: LiveOptions,
  lastId: () => string | undefined,
): () => void {
  let missedHeartbeats = 0;
  const pulse = async (stopping: AbortSignal) => {
    const data = await pulses.get(view);
    // The id advances: reconnecting does not rescan the feed.
    if (!stopping.aborted) stream.trySend({ event: 'pulse', id: lastId(), data });
    return times.pulseMs;
  };
  const heartbeat = async () => {
    missedHeartbeats = stream.heartbeat() ? 0 : missedHeartbeats + 1;
    // On failure, the next heartbeat checks again.
    const isAllowed = await caller.isStillAllowed().catch(() => true);
    if (missedHeartbeats >= 2 || !isAllowed) end();
    return times.heartbeatMs;
  };
  // The loop retries the pulse.
  const onFailure = () => {};
  const loops = [pulse, heartbeat].map((runOnce) => startLoop({ ports, runOnce, onFailure }));
  return () => {
    for (const loop of loops) void loop.stop();
  };
}
