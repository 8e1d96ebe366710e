import { createRoute, z } from '@hono/zod-openapi';
import { feedSignalJson } from '../../index.ts';
import { omitUndefined } from '../../values/omit-undefined.ts';
import type { App } from '../context.ts';
import { abortOnDisconnect } from '../disconnect.ts';
import { schemaOf } from '../model-schema.ts';
import { flagInQuery, id, intInQuery, pageQuery, provider, strict, text } from '../parts.ts';
import type { Slots } from '../request-limit.ts';
import { answer, problems, signedIn } from '../responses.ts';

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
        'Signals in commit order. Continue with `after` set to `next_cursor`, or use a consumer with a ' +
        'stored position.',
      request: {
        query: strict({
          after: text(500)
            .openapi({ description: 'A feed cursor, `beginning` or `latest`.', example: 'beginning' })
            .optional(),
          consumer: text(100)
            .openapi({ description: 'Continue from the position of this consumer.' })
            .optional(),
          wait: intInQuery(0, 30, {
            default: 0,
            description: 'Long-poll timeout in seconds.',
          }).optional(),
          payload: flagInQuery({ default: true, description: 'Include payloads.' }).optional(),
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
              items: z.array(schemaOf(feedSignalJson)),
              next_cursor: z.string().openapi({ description: 'Cursor to continue from; never null.' }),
            })
            .openapi('FeedPage'),
        ),
        ...problems(404, 410),
      },
    }),
    async (c) => {
      const { wait = 0, payload = true, connection_id, ...rest } = c.req.valid('query');
      const release = streams.take(c.get('caller').id);
      const disconnect = abortOnDisconnect(c, signal);
      try {
        const reservation = c.get('reservation');
        const page = await c.get('view').signals.read(
          {
            ...omitUndefined({ ...rest, connectionId: connection_id }),
            payload,
            waitMs: wait * 1000,
            signal: disconnect.signal,
          },
          async (advance) => {
            await reservation.reserve();
            const batch = await advance();
            // Waiting holds no memory.
            if (batch.items.length === 0) reservation.release();
            return batch;
          },
        );
        const items = page.items.map(feedSignalJson);
        return c.json({ items, next_cursor: page.nextCursor }, 200);
      } finally {
        disconnect.release();
        release();
      }
    },
  );
}
