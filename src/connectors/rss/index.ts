import { z } from 'zod';
import {
  bearer,
  type Connector,
  createHttp,
  createValidators,
  defineConnector,
  optional,
  PermanentError,
  type ReceivedAnswer,
  type SyncContext,
  type SyncResult,
  streamsCursor,
  syncStreams,
  validatorsCursor,
} from '../../connector-kit/index.ts';
import { SynclineError } from '../../contract/errors.ts';
import { readFeed } from './feed.ts';
import { maxItems } from './item.ts';
import { newsOf, type RssPayloads, type RssSignal, signalSchemas } from './signals.ts';

export interface RssOptions<Provider extends string = string> {
  /** `any` allows private networks: not if tenants choose the URLs. */
  network?: 'public' | 'any' | undefined;
  /** Default: 8 MB, at most 16 MB. */
  maxBytes?: number | undefined;
  /** Default: `rss`. */
  provider?: Provider | undefined;
}

const megabyte = 1024 * 1024;
/** The largest cursor fits. */
const [maxFeeds, maxUrl, maxKnown] = [50, 1000, 4000];

const address = z
  .url({ protocol: /^https?$/, error: 'must be a URL that starts with http:// or https://' })
  .max(maxUrl)
  .refine((url) => URL.canParse(url) && new URL(url).username === '', {
    error: 'must not contain a user name; use a credential instead',
  });

const configSchema = z
  .object({ url: address.optional(), urls: z.array(address).min(1).max(maxFeeds).optional() })
  .refine(({ url, urls }) => (url === undefined) !== (urls === undefined), {
    error: 'must have either url, or urls for several feeds',
  })
  .transform(({ url, urls }) => ({ urls: [...new Set(urls ?? [url ?? ''])] }));

const feedCursor = z.object({
  validators: validatorsCursor.optional(),
  known: z.record(z.string(), z.string()),
});
type FeedCursor = z.output<typeof feedCursor>;

const accepted =
  'application/rss+xml, application/atom+xml, application/feed+json, ' +
  'application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5';

/** RSS, Atom and JSON feeds. */
export function rss<const Provider extends string = 'rss'>({
  network = 'public',
  maxBytes = 8 * megabyte,
  provider = 'rss' as Provider,
}: RssOptions<Provider> = {}): Connector<Provider, z.input<typeof configSchema>, RssPayloads> {
  if (!Number.isInteger(maxBytes) || maxBytes < 1 || maxBytes > 16 * megabyte)
    throw new SynclineError('CONFIG_INVALID', `rss({ maxBytes }) is ${maxBytes}.`, {
      hint: `Use a whole number from 1 to ${16 * megabyte}.`,
    });

  return defineConnector({
    provider,
    name: 'RSS',
    configSchema,
    cursorSchema: streamsCursor(feedCursor),
    signalSchemas,
    sync: (context) => {
      const { urls } = context.connection.config;
      return syncStreams(context, urls, (url, cursor) => readUrl(context, url, urls, cursor));
    },
  });

  async function readUrl(
    context: SyncContext,
    url: string,
    urls: readonly string[],
    cursor: FeedCursor | undefined,
  ): Promise<SyncResult<FeedCursor, RssSignal>> {
    const http = createHttp(context, {
      baseUrl: url,
      network,
      maxBytes,
      refusal: (answer) => refusal(answer) ?? (urls.length > 1 ? persistentRateLimit(answer) : undefined),
      headers: { accept: accepted },
      // Feeds on several origins get no credential.
      ...(new Set(urls.map((feedUrl) => new URL(feedUrl).origin)).size === 1 && {
        authorize: optional(bearer()),
      }),
    });
    const validators = createValidators(cursor?.validators);
    const answer = await http.getIfChanged(url, { validators });
    if (!answer) return { signals: [] };

    const { title, items } = readFeed(answer.text, answer.url);
    if (items.length > maxItems)
      context.log.warn(`${url} has more than ${maxItems} items; the rest is ignored.`);
    const { signals, known } = newsOf({ url, title, items: items.slice(0, maxItems) }, cursor?.known ?? {}, {
      maxKnown: Math.floor(maxKnown / urls.length),
      seenAt: context.job.scheduledAt,
    });
    const tags = validators.toCursor();
    return { signals, nextCursor: { known, ...(tags && { validators: tags }) } };
  }
}

const maxRateLimitFailures = 3;

/** A permanent rate limit would block the job's other feeds. */
function persistentRateLimit({ status, request, attempts }: ReceivedAnswer): Error | undefined {
  if (status !== 429 || attempts < maxRateLimitFailures) return undefined;
  return new PermanentError(`${request} returned 429 for the ${attempts + 1}th time.`);
}

function refusal({ status, headers, request }: ReceivedAnswer): Error | undefined {
  if (status === 410)
    return new PermanentError(`${request} returned 410: the feed is permanently gone. Remove it.`);
  if (status === 403 && !headers.has('retry-after'))
    return new PermanentError(`${request} returned 403: the site denies access to the feed.`);
  return undefined;
}
