import type { Logger } from 'pino';
import type { View } from '../api/index.ts';
import { feedSignalJson } from '../api/index.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import { systemPorts } from '../platform/ports.ts';
import type { LiveTimes, RequestCaller } from './context.ts';
import type { EventStream } from './event-stream.ts';
import type { Pulses } from './pulse.ts';

export const defaultLiveTimes: LiveTimes = { pulseMs: 2000, heartbeatMs: 15_000 };

/** How long a read waits for signals before it asks again. */
const waitMs = 10_000;
const pageSize = 100;
/** What is read for a client at a time: with what its stream holds, the memory of a client that reads slowly. */
const maxBytes = 256 * 1024;
const retryMs = 2000;

interface LiveFilter {
  connectionId?: string;
  provider?: string;
  kind?: string;
  tenantId?: string;
}

export interface LiveOptions {
  view: View;
  caller: RequestCaller;
  filter: LiveFilter;
  /** Aborts when the client has left, or the service stops. */
  signal: AbortSignal;
  end(): void;
  stream: EventStream;
  pulses: Pulses;
  times: LiveTimes;
  version: string;
  log: Logger;
}

/** Where a stream begins, found out before it is opened, so that a wrong cursor is answered with a problem. */
export async function startingPoint(
  { view, filter }: Pick<LiveOptions, 'view' | 'filter'>,
  { lastEventId, after }: { lastEventId: string | undefined; after: string },
): Promise<{ after: string; gap: boolean }> {
  try {
    return { after: await checked(lastEventId ?? after), gap: false };
  } catch (error) {
    // One who comes back too late goes on with what is new, and is told that something is missing: a browser that is
    // refused does not come back again.
    if (!(error instanceof SynclineError) || error.code !== 'EXPIRED') throw error;
    return { after: await checked('latest'), gap: true };
  }

  /** `latest` becomes the cursor that it is now. From a cursor nothing is read yet, so that nothing is passed over. */
  async function checked(from: string): Promise<string> {
    const { nextCursor } = await view.signals.read({ ...filter, after: from, limit: 1, payload: false });
    return from === 'latest' ? nextCursor : from;
  }
}

/** Sends what comes in until the client leaves, the service stops or the caller may listen no more. */
export async function runLive(options: LiveOptions, start: { after: string; gap: boolean }): Promise<void> {
  const { view, filter, signal, stream, version, log } = options;
  let cursor = start.after;
  const idOf = (text: string) => (text === 'beginning' ? undefined : text);
  const at = new Date(systemPorts.now()).toISOString();
  stream.offer({
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
        maxBytes,
        waitMs,
        signal,
      });
      for (const item of page.items) {
        if (signal.aborted) return;
        await stream.send({
          event: 'signal',
          id: item.cursor,
          data: feedSignalJson(item, { payload: true }),
        });
        cursor = item.cursor;
      }
      cursor = page.nextCursor;
    }
  } catch (error) {
    // The client comes back by itself, and then learns what is wrong.
    if (!signal.aborted) log.debug(`a live stream ended: ${describeError(error)}`);
  } finally {
    stopPulse();
    stream.close();
  }
}

/** Says now and then how busy things are, and ends the stream of whoever may not listen any more or does not read. */
function keepAlive(
  { view, caller, end, stream, pulses, times }: LiveOptions,
  lastId: () => string | undefined,
): () => void {
  let beatsMissed = 0;
  const pulse = async () => {
    const data = await pulses.of(view);
    // With the place in the feed: where a filter lets nothing through, a client that comes back need not search it again.
    stream.offer({ event: 'pulse', id: lastId(), data });
  };
  const beat = async () => {
    beatsMissed = stream.beat() ? 0 : beatsMissed + 1;
    if (beatsMissed >= 2 || !(await caller.isStillAllowed())) end();
  };
  // A database that does not answer is no reason to end: the next pulse may come through.
  const ignore = () => {};
  const timers = [
    setInterval(() => void pulse().catch(ignore), times.pulseMs),
    setInterval(() => void beat().catch(ignore), times.heartbeatMs),
  ];
  void pulse().catch(ignore);
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}
