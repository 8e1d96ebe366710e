import { z } from 'zod';
import { type Connector, defineConnector, type Signal } from '../../connector.ts';
import { accountSchema } from './account.ts';
import { getPage, queryOf } from './http.ts';

/** In the middle of a walk a page token, after it a sync token. */
const cursorSchema = z.union([z.object({ pageToken: z.string() }), z.object({ syncToken: z.string() })]);

const eventSchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  sequence: z.number(),
  updated: z.string(),
});

const pageSchema = z.object({
  items: z.array(eventSchema),
  nextPageToken: z.string().optional(),
  nextSyncToken: z.string().optional(),
});

export function googleCalendarConnector(serverUrl: string): Connector {
  return defineConnector({
    provider: 'google-calendar',
    name: 'Google Calendar',
    configSchema: accountSchema,
    cursorSchema,
    sync: async (context) => {
      const { cursor, connection } = context;
      const { account, baseUrl = serverUrl } = connection.config;
      const { body } = await getPage(context, {
        baseUrl: `${baseUrl}/google-calendar`,
        path: `/calendars/${encodeURIComponent(account)}/events?${queryOf({ maxResults: 50, ...cursor })}`,
        schema: pageSchema,
        count: ({ items }) => items.length,
      });
      if (!body) return { signals: [] };
      const { items, nextPageToken: pageToken, nextSyncToken: syncToken } = body;
      const signals = items.map(signalOf);
      if (pageToken) return { signals, nextCursor: { pageToken }, hasMore: true };
      return { signals, nextCursor: syncToken ? { syncToken } : undefined };
    },
  });
}

function signalOf(event: z.output<typeof eventSchema>): Signal {
  return {
    kind: kindOf(event),
    occurredAt: event.updated,
    payload: event,
    dedupeKey: `${event.id}@${event.updated}`,
  };
}

function kindOf({ status, sequence }: z.output<typeof eventSchema>): string {
  if (status === 'cancelled') return 'event.cancelled';
  return sequence > 0 ? 'event.moved' : 'event.created';
}
