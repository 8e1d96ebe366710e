import { createRoute, z } from '@hono/zod-openapi';
import { feedSignalJson } from '../../api/index.ts';
import type { App } from '../context.ts';
import { flagInQuery, given, id, pageQuery, provider, strict, text, wholeInQuery } from '../parts.ts';
import type { Slots } from '../request-limit.ts';
import { answer, problems, signedIn } from '../responses.ts';
import { fedSignalSchema } from '../signal-schema.ts';
import { untilGone } from '../until-gone.ts';

/** The feed: every signal, in an order that never changes behind a reader. Long polls have slots of their own. */
export function feedRoutes(app: App, streams: Slots, signal: AbortSignal | undefined): void {
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/signals/feed',
      operationId: 'readFeed',
      tags: ['Signals'],
      security: signedIn,
      summary: 'Read the feed',
      description:
        'Signals in the order in which they were stored. Go on with `after` set to `next_cursor`, or name a consumer and let the service remember how far it has come.',
      request: {
        query: strict({
          after: text(500)
            .openapi({ description: 'A cursor of the feed, `beginning` or `latest`.', example: 'beginning' })
            .optional(),
          consumer: text(100).openapi({ description: 'Goes on where this consumer is.' }).optional(),
          wait: wholeInQuery(0, 30, {
            default: 0,
            description: 'How many seconds to wait for a signal where there is none yet.',
          }).optional(),
          payload: flagInQuery({ default: true, description: 'Whether payloads are included.' }).optional(),
          provider: provider().optional(),
          kind: text(200).optional(),
          connection_id: id().optional(),
          limit: pageQuery.limit,
        }),
      },
      responses: {
        200: answer(
          'The next signals.',
          z
            .object({
              items: z.array(fedSignalSchema),
              next_cursor: z.string().openapi({ description: 'Where to go on; never null.' }),
            })
            .openapi('Feed'),
        ),
        ...problems(404, 410),
      },
    }),
    async (c) => {
      const { wait = 0, payload = true, connection_id, ...rest } = c.req.valid('query');
      const release = streams.take(c.get('caller').id);
      const gone = untilGone(c, signal);
      try {
        const reservation = c.get('reservation');
        const page = await c.get('view').signals.read(
          {
            ...given({ ...rest, connectionId: connection_id }),
            payload,
            waitMs: wait * 1000,
            signal: gone.signal,
          },
          async (advance) => {
            await reservation.reserve();
            const found = await advance();
            // While it waits for signals, others may read.
            if (found.items.length === 0) reservation.release();
            return found;
          },
        );
        const items = page.items.map((item) => feedSignalJson(item, { payload }));
        return c.json({ items, next_cursor: page.nextCursor }, 200);
      } finally {
        gone.release();
        release();
      }
    },
  );
}
