import { ascend, ascendingCursor, bearer, createHttp, defineConnector, versionKey } from 'syncline/connector';
import { z } from 'zod';

const pageSize = 10;
const issue = z.object({ id: z.number(), title: z.string(), updated_at: z.string() });

/** The connector under test: an issue tracker that lists issues by time of last change. */
export const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  cursorSchema: ascendingCursor,
  sync: async (context) => {
    const cursor = context.cursor ?? {};
    const http = createHttp(context, { baseUrl: 'https://api.tracker.example', authorize: bearer() });
    const { data: issues } = await http.get('/issues', {
      query: { since: cursor.since, page: cursor.page },
      schema: z.array(issue),
    });
    const times = issues.map(({ updated_at }) => updated_at);
    const next = ascend(cursor, { times, isFull: issues.length === pageSize });
    return {
      signals: issues.map((one) => ({
        kind: 'issue.updated',
        occurredAt: one.updated_at,
        payload: one,
        dedupeKey: versionKey(String(one.id), one.updated_at, one),
      })),
      nextCursor: next.cursor,
      hasMore: next.hasMore,
    };
  },
});
