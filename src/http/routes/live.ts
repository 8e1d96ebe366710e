import { createRoute, z } from '@hono/zod-openapi';
import type { Logger } from 'pino';
import type { App, LiveTimes } from '../context.ts';
import { openEventStream } from '../event-stream.ts';
import { runLive, startingPoint } from '../live.ts';
import { given, strict, text } from '../parts.ts';
import { createPulses } from '../pulse.ts';
import type { Slots } from '../request-limit.ts';
import { problems, signedIn } from '../responses.ts';
import { signalFilterQuery } from '../signal-schema.ts';
import { untilGone } from '../until-gone.ts';

export interface LiveParts {
  streams: Slots;
  times: LiveTimes;
  version: string;
  log: Logger;
  signal: AbortSignal | undefined;
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Some proxies collect an answer before they pass it on.
  'x-accel-buffering': 'no',
};

export function liveRoutes(app: App, { streams, times, version, log, signal }: LiveParts): void {
  // A little less than the pace of the pulses, so that a timer that fires early does not get the one before.
  const pulses = createPulses(times.pulseMs * 0.9);

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/live',
      operationId: 'watch',
      tags: ['Signals'],
      security: signedIn,
      summary: 'Watch signals come in',
      description:
        'Server-sent events: `hello` at the beginning, `signal` for each signal with its place in the feed as id, and `pulse` every two seconds. A client that comes back with `Last-Event-ID` misses nothing; where that is no longer kept, `hello` says `gap: true`.',
      request: {
        query: strict({
          ...signalFilterQuery,
          after: text(500)
            .openapi({ description: 'A cursor of the feed, `beginning` or `latest`.', default: 'latest' })
            .optional(),
        }),
      },
      responses: {
        200: {
          description: 'The stream, until either side ends it.',
          content: { 'text/event-stream': { schema: z.string() } },
        },
        ...problems(),
      },
    }),
    async (c) => {
      const { connection_id, tenant_id, provider, kind, after = 'latest' } = c.req.valid('query');
      const filter = given({ connectionId: connection_id, tenantId: tenant_id, provider, kind });
      const [view, caller] = [c.get('view'), c.get('caller')];
      const lastEventId = c.req.header('last-event-id')?.slice(0, 500) || undefined;
      // Taken first: finding where to begin is work, too.
      const release = streams.take(caller.id);
      const start = await startingPoint({ view, filter }, { lastEventId, after }).catch((error: unknown) => {
        release();
        throw error;
      });
      if (c.req.method === 'HEAD') {
        release();
        return c.body(null, 200, headers);
      }

      const gone = untilGone(c, signal);
      const stream = openEventStream(gone.end);
      // Whatever waits for room in the stream is let go, too.
      gone.signal.addEventListener('abort', () => stream.close(), { once: true });
      const options = {
        view,
        caller,
        filter,
        signal: gone.signal,
        end: gone.end,
        stream,
        pulses,
        times,
        version,
        log,
      };
      void runLive(options, start).finally(() => {
        gone.release();
        release();
      });
      return c.body(stream.body, 200, headers);
    },
  );
}
