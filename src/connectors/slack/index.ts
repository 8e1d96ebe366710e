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
import { pageSchema } from './messages.ts';
import { refusal } from './refusals.ts';
import { slackWebhook } from './webhook.ts';

export interface SlackOptions {
  /** Where the API begins, if not at Slack. */
  baseUrl?: string | undefined;
  /** The app that people give their consent to. */
  oauth2?: (Partial<OAuth2> & Pick<OAuth2, 'clientId'>) | undefined;
  /** What Slack signs deliveries with: "Signing Secret" among the app's basic information. */
  signingSecret?: string | undefined;
  /** Whether a message that was delivered also has its connection synced, which finds what was not delivered. */
  hints?: boolean | undefined;
  /** For each method, with one credential: 50 as documented for tier 3; 1 for apps distributed outside of Slack's marketplace. */
  requestsPerMinute?: number | undefined;
  /** Messages per request: 200 as recommended; at most 15 for apps distributed outside of Slack's marketplace. */
  pageSize?: number | undefined;
  /** The slug of the provider, if not `slack`. */
  provider?: string | undefined;
}

const weekSeconds = 7 * 24 * 3600;

const configSchema = z.object({
  channels: z
    .array(
      z
        .string()
        .regex(/^[CDG][A-Z0-9]+$/, 'must be the id of a channel, such as C0123ABCD, and not its name'),
      { error: 'must be a list of the ids of channels, such as ["C0123ABCD"]' },
    )
    .min(1)
    .max(200),
  threads: z.boolean().default(false),
  lookbackSeconds: z.number().int().min(0).max(weekSeconds).default(3600),
});

/** Messages of Slack channels: what was posted, replied and edited since the last sync. */
export function slack(options: SlackOptions = {}): Connector {
  const {
    baseUrl = 'https://slack.com/api',
    provider = 'slack',
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
    ...(oauth2 && { oauth2: withSlack(oauth2) }),
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
      // Inclusive, because what comes twice is stored once, and what is left out is lost.
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

function withSlack(app: Partial<OAuth2> & Pick<OAuth2, 'clientId'>): OAuth2 {
  return {
    authorizationUrl: 'https://slack.com/oauth/v2/authorize',
    tokenUrl: 'https://slack.com/api/oauth.v2.access',
    // One text, because Slack wants commas where others want blanks.
    scopes: ['channels:history,groups:history'],
    ...app,
  };
}

function wholeNumber(name: string, value: number, most: number): number {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw new SynclineError('CONFIG_INVALID', `slack({ ${name} }) is ${value}.`, {
    hint: `Give a whole number from 1 to ${most}.`,
  });
}
