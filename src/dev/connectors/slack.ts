import { z } from 'zod';
import { type Connector, defineConnector, type Signal } from '../../connector.ts';
import { PermanentError, UnauthorizedError } from '../../errors.ts';
import { accountSchema } from './account.ts';
import { getPage, queryOf } from './http.ts';

const cursorSchema = z.object({
  /** The newest message of the last complete walk. */
  oldest: z.string().optional(),
  /** In the middle of a walk, which goes from the newest back: where it goes on, and what will be `oldest` after it. */
  walk: z.object({ cursor: z.string(), newest: z.string() }).optional(),
});

const messageSchema = z.looseObject({
  ts: z.string(),
  subtype: z.string().optional(),
  thread_ts: z.string().optional(),
});

const pageSchema = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  messages: z.array(messageSchema).default([]),
  response_metadata: z.object({ next_cursor: z.string() }).optional(),
});

export function slackConnector(serverUrl: string): Connector {
  return defineConnector({
    provider: 'slack',
    name: 'Slack',
    configSchema: accountSchema,
    cursorSchema,
    sync: async (context) => {
      const { cursor = {}, connection } = context;
      const { account: channel, baseUrl = serverUrl } = connection.config;
      const { oldest, walk } = cursor;
      const { body } = await getPage(context, {
        baseUrl: `${baseUrl}/slack`,
        path: `/api/conversations.history?${queryOf({ channel, oldest, limit: 50, cursor: walk?.cursor })}`,
        schema: pageSchema,
        count: ({ messages }) => messages.length,
      });
      if (!body) return { signals: [] };
      if (!body.ok) throw errorOf(body.error);

      const signals = body.messages.map(signalOf);
      const newest = walk?.newest ?? body.messages[0]?.ts ?? oldest;
      const next = body.response_metadata?.next_cursor;
      return next && newest !== undefined
        ? { signals, nextCursor: { oldest, walk: { cursor: next, newest } }, hasMore: true }
        : { signals, nextCursor: { oldest: newest } };
    },
  });
}

/** Slack tells of mistakes with status 200. */
function errorOf(error = 'unknown_error'): Error {
  const isAuth = ['invalid_auth', 'token_revoked', 'token_expired', 'account_inactive'].includes(error);
  return isAuth
    ? new UnauthorizedError(`Slack refuses the token: ${error}.`)
    : new PermanentError(`Slack refuses the request: ${error}.`);
}

function signalOf(message: z.output<typeof messageSchema>): Signal {
  return {
    kind: kindOf(message),
    occurredAt: new Date(Number(message.ts) * 1000),
    payload: message,
    dedupeKey: message.ts,
  };
}

function kindOf({ subtype, thread_ts }: z.output<typeof messageSchema>): string {
  if (subtype === 'file_share') return 'file.shared';
  return thread_ts ? 'message.replied' : 'message.posted';
}
