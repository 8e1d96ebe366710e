import { z } from 'zod';
import {
  type Budget,
  bearer,
  type Connector,
  createHttp,
  defineConnector,
  type Http,
  type OAuth2,
  streamsCursor,
  syncStreams,
} from '../../connector-kit/index.ts';
import { SynclineError } from '../../contract/errors.ts';
import { type ChannelReader, channelCursor, readChannel } from './channel.ts';
import { pageSchema, type SlackPayloads, signalSchemas } from './messages.ts';
import { refusal } from './refusals.ts';
import { slackWebhook } from './webhook.ts';

export interface SlackOptions<Provider extends string = string> {
  /** Default: Slack. */
  baseUrl?: string | undefined;
  oauth2?: (Partial<OAuth2> & Pick<OAuth2, 'clientId'>) | undefined;
  /** "Signing Secret" in the app's basic information. */
  signingSecret?: string | undefined;
  /** Also sync after a delivery, to find undelivered messages. */
  hints?: boolean | undefined;
  /** Per method and credential. Default 50 (tier 3); 1 for apps outside the Slack Marketplace. */
  requestsPerMinute?: number | undefined;
  /** Default 200; at most 15 for apps outside the Slack Marketplace. */
  pageSize?: number | undefined;
  /** Default: `slack`. */
  provider?: Provider | undefined;
}

const weekSeconds = 7 * 24 * 3600;

const configSchema = z.object({
  channels: z
    .array(z.string().regex(/^[CDG][A-Z0-9]+$/, 'must be a channel id such as C0123ABCD, not a name'), {
      error: 'must be a list of channel ids, such as ["C0123ABCD"]',
    })
    .min(1)
    .max(200),
  threads: z.boolean().default(false),
  lookbackSeconds: z.number().int().min(0).max(weekSeconds).default(3600),
});

/** Posts, replies and edits in Slack channels. */
export function slack<const Provider extends string = 'slack'>(
  options: SlackOptions<Provider> = {},
): Connector<Provider, z.input<typeof configSchema>, SlackPayloads> {
  const {
    baseUrl = 'https://slack.com/api',
    provider = 'slack' as Provider,
    oauth2,
    signingSecret,
    hints = true,
  } = options;
  const pageSize = wholeNumber('pageSize', options.pageSize ?? 200, 999);
  const limit = wholeNumber('requestsPerMinute', options.requestsPerMinute ?? 50, 10_000);
  return defineConnector({
    provider,
    name: 'Slack',
    configSchema,
    cursorSchema: streamsCursor(channelCursor),
    signalSchemas,
    ...(oauth2 && { oauth2: slackOAuth(oauth2) }),
    webhook: slackWebhook(signingSecret, hints),
    sync: (context) => {
      const { channels, ...choice } = context.connection.config;
      const http = createHttp(context, { baseUrl, authorize: bearer(), refusal });
      return syncStreams(context, [...new Set(channels)], (channel, cursor = {}) =>
        readChannel(channel, cursor, readerOf(http, channel, pageSize, limit), choice, context.log),
      );
    },
  });
}

function readerOf(http: Http, channel: string, pageSize: number, limit: number): ChannelReader {
  const get = async (method: string, query: Record<string, string | undefined>) => {
    const budget: Budget = { name: method, per: 'credential', limit, perSeconds: 60 };
    const { data } = await http.get(method, {
      // Inclusive: duplicates are deduplicated, gaps lost.
      query: { channel, limit: pageSize, inclusive: query['oldest'] && true, ...query },
      schema: pageSchema,
      budgets: [{ budget }],
    });
    return data;
  };
  return {
    history: (span) => get('conversations.history', { ...span }),
    replies: (thread, span) => get('conversations.replies', { ts: thread, ...span }),
  };
}

function slackOAuth(app: Partial<OAuth2> & Pick<OAuth2, 'clientId'>): OAuth2 {
  return {
    authorizationUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    // One string: Slack separates scopes with commas.
    scopes: ['channels:history,groups:history'],
    ...app,
  };
}

function wholeNumber(name: string, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new SynclineError('CONFIG_INVALID', `slack({ ${name} }) is ${value}.`, {
    hint: `Use a whole number from 1 to ${max}.`,
  });
}
