import { createRoute, z } from '@hono/zod-openapi';
import type { Logger } from 'pino';
import type { Ports } from '../../platform/ports.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App, LiveTimes } from '../context.ts';
import { abortOnDisconnect } from '../disconnect.ts';
import { openEventStream } from '../event-stream.ts';
import { runLive, startingPoint } from '../live.ts';
import { signalFilterQuery, strict, text } from '../parts.ts';
import { createPulses } from '../pulse.ts';
import type { Slots } from '../request-limit.ts';
import { problems, signedIn } from '../responses.ts';

export interface LiveParts {
  ports: Ports;
  streams: Slots;
  times: LiveTimes;
  version: string;
  log: Logger;
  signal: AbortSignal | undefined;
}

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Disables nginx's buffering.
  'x-accel-buffering': 'no',
};

export function liveRoutes(app: App, { ports, streams, times, version, log, signal }: LiveParts): void {
  // An early timer must not get the previous pulse.
  const pulses = createPulses(times.pulseMs * 0.9, ports.monotonicMs);

  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/live',
      operationId: 'watch',
      tags: ['Signals'],
      security: signedIn,
      summary: 'Stream signals',
      description:
        'Server-sent events: `hello` first, `signal` for each signal with its feed cursor as id, and ' +
        '`pulse` every two ' +
        'seconds. `Last-Event-ID` resumes without gaps; behind the retention window, `hello` has `gap: ' +
        'true`.',
      request: {
        query: strict({
          ...signalFilterQuery,
          after: text(500)
            .openapi({ description: 'A feed cursor, `beginning` or `latest`.', default: 'latest' })
            .optional(),
        }),
      },
      responses: {
        200: {
          description: 'The event stream.',
          content: { 'text/event-stream': { schema: z.string() } },
        },
        ...problems(),
      },
    }),
    async (c) => {
      const { connection_id, tenant_id, provider, kind, after = 'latest' } = c.req.valid('query');
      const filter = omitUndefined({ connectionId: connection_id, tenantId: tenant_id, provider, kind });
      const [view, caller] = [c.get('view'), c.get('caller')];
      const lastEventId = c.req.header('last-event-id')?.slice(0, 500) || undefined;
      // Before the cursor's query.
      const release = streams.take(caller.id);
      const start = await startingPoint({ view, filter }, { lastEventId, after }).catch((error: unknown) => {
        release();
        throw error;
      });
      if (c.req.method === 'HEAD') {
        release();
        return c.body(null, 200, headers);
      }

      const disconnect = abortOnDisconnect(c, signal);
      const stream = openEventStream(disconnect.end);
      // Unblocks a waiting send.
      disconnect.signal.addEventListener('abort', () => stream.close(), { once: true });
      const options = {
        view,
        caller,
        filter,
        signal: disconnect.signal,
        end: disconnect.end,
        stream,
        pulses,
        times,
        ports,
        version,
        log,
      };
      void runLive(options, start).finally(() => {
        disconnect.release();
        release();
      });
      return c.body(stream.body, 200, headers);
    },
  );
}
