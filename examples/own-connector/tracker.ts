import { ascend, ascendingCursor, createHttp, defineConnector, versionKey } from 'syncline/connector';
import { z } from 'zod';

const pageSize = 10;
const issue = z.object({ id: z.number(), title: z.string(), state: z.string(), updated_at: z.string() });

export const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  /** What each connection configures. */
  configSchema: z.object({ baseUrl: z.url() }),
  /** The position after the previous page. The engine commits it in the transaction that stores the signals. */
  cursorSchema: ascendingCursor,

  sync: async (context) => {
    const cursor = context.cursor ?? {};
    // Maps each failed response to an error that the engine handles: retry, backoff or `needs_auth`.
    const http = createHttp(context, { baseUrl: context.connection.config.baseUrl });
    const { data: issues } = await http.get('/issues', {
      query: { since: cursor.since, page: cursor.page },
      schema: z.array(issue),
    });
    // Continues at the time of the last issue, inclusive: other issues may share it.
    const next = ascend(cursor, {
      times: issues.map(({ updated_at }) => updated_at),
      isFull: issues.length === pageSize,
    });
    return {
      signals: issues.map((one) => ({
        kind: `issue.${one.state}`,
        occurredAt: one.updated_at,
        payload: one,
        // The inclusive query returns some issues again. A version with a known key is not stored again.
        dedupeKey: versionKey(String(one.id), one.updated_at, one),
      })),
      nextCursor: next.cursor,
      hasMore: next.hasMore, // another job follows immediately
    };
  },
});
