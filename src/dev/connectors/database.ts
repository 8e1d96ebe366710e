import { z } from 'zod';
import { type Connector, defineConnector, type Signal } from '../../connector.ts';
import { accountSchema } from './account.ts';
import { getPage, queryOf } from './http.ts';

const cursorSchema = z.object({ after: z.number().int() });

const kinds = { insert: 'row.inserted', update: 'row.updated', delete: 'row.deleted' };

const changeSchema = z.looseObject({
  position: z.number().int(),
  committed_at: z.string(),
  operation: z.enum(['insert', 'update', 'delete']),
});

const pageSchema = z.object({ changes: z.array(changeSchema), more: z.boolean() });

export function databaseConnector(serverUrl: string): Connector {
  return defineConnector({
    provider: 'postgres',
    name: 'Postgres',
    configSchema: accountSchema,
    cursorSchema,
    sync: async (context) => {
      const { cursor, connection } = context;
      const { account, baseUrl = serverUrl } = connection.config;
      const { body } = await getPage(context, {
        baseUrl: `${baseUrl}/postgres`,
        path: `/databases/${account}/changes?${queryOf({ after: cursor?.after, limit: 100 })}`,
        schema: pageSchema,
        count: ({ changes }) => changes.length,
      });
      if (!body) return { signals: [] };
      const after = body.changes.at(-1)?.position ?? cursor?.after;
      return {
        signals: body.changes.map(signalOf),
        nextCursor: after === undefined ? undefined : { after },
        hasMore: body.more,
      };
    },
  });
}

const signalOf = (change: z.output<typeof changeSchema>): Signal => ({
  kind: kinds[change.operation],
  occurredAt: change.committed_at,
  payload: change,
  dedupeKey: String(change.position),
});
