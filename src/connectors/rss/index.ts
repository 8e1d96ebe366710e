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
import { newsOf } from './signals.ts';

export interface RssOptions {
  /** `any` also reads feeds of private networks: only if nobody but you chooses the addresses. */
  network?: 'public' | 'any' | undefined;
  /** The largest feed that is read, 8 MB unless given, 16 MB at most. */
  maxBytes?: number | undefined;
  /** The slug of the provider, if not `rss`. */
  provider?: string | undefined;
}

const megabyte = 1024 * 1024;
/** With these, cursors of the most and longest addresses fit into what a cursor may have. */
const [maxFeeds, maxUrl, maxKnown] = [50, 1000, 4000];

const address = z
  .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
  .max(maxUrl)
  .refine((url) => URL.canParse(url) && new URL(url).username === '', {
    error: 'must not hold a user name; give the connection a credential instead',
  });

const configSchema = z
  .object({ url: address.optional(), urls: z.array(address).min(1).max(maxFeeds).optional() })
  .refine(({ url, urls }) => (url === undefined) !== (urls === undefined), {
    error: 'must have either url, or urls for several feeds',
  })
  .transform(({ url, urls }) => ({ urls: [...new Set(urls ?? [url ?? ''])] }));

/** Of one feed. */
const feedCursor = z.object({
  validators: validatorsCursor.optional(),
  known: z.record(z.string(), z.string()),
});
type FeedCursor = z.output<typeof feedCursor>;

const accepted =
  'application/rss+xml, application/atom+xml, application/feed+json, application/xml;q=0.9, text/xml;q=0.9, */*;q=0.5';

/** Items of RSS, Atom and JSON feeds. */
export function rss({
  network = 'public',
  maxBytes = 8 * megabyte,
  provider = 'rss',
}: RssOptions = {}): Connector {
  if (!Number.isInteger(maxBytes) || maxBytes < 1 || maxBytes > 16 * megabyte)
    throw new SynclineError('CONFIG_INVALID', `rss({ maxBytes }) is ${maxBytes}.`, {
      hint: `Give a whole number from 1 to ${16 * megabyte}.`,
    });

  return defineConnector({
    provider,
    name: 'RSS',
    configSchema,
    cursorSchema: streamsCursor(feedCursor),
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
  ): Promise<SyncResult<FeedCursor>> {
    const http = createHttp(context, {
      baseUrl: url,
      network,
      maxBytes,
      refusal: (answer) => refusal(answer) ?? (urls.length > 1 ? alwaysLimited(answer) : undefined),
      headers: { accept: accepted },
      // A credential belongs to one site: where there are several, it goes to none.
      ...(new Set(urls.map((one) => new URL(one).origin)).size === 1 && { authorize: optional(bearer()) }),
    });
    const validators = createValidators(cursor?.validators);
    const answer = await http.getIfChanged(url, { validators });
    if (!answer) return { signals: [] };

    const { title, items } = readFeed(answer.text, answer.url);
    if (items.length > maxItems)
      context.log.warn(`${url} has more than ${maxItems} items; the others are left out.`);
    const { signals, known } = newsOf({ url, title, items: items.slice(0, maxItems) }, cursor?.known ?? {}, {
      most: Math.floor(maxKnown / urls.length),
      seenAt: context.job.scheduledAt,
    });
    const tags = validators.toCursor();
    return { signals, nextCursor: { known, ...(tags && { validators: tags }) } };
  }
}

/** So often a feed may ask to be left alone before the others, which are other sites', go first. */
const patience = 3;

/** A limit is waited for by the whole job: one that never ends would keep all other feeds from being read. */
function alwaysLimited({ status, request, attempts }: ReceivedAnswer): Error | undefined {
  if (status !== 429 || attempts < patience) return undefined;
  return new PermanentError(`${request} was answered with 429 for the ${attempts + 1}th time.`);
}

function refusal({ status, headers, request }: ReceivedAnswer): Error | undefined {
  if (status === 410)
    return new PermanentError(`${request} was answered with 410: the feed is gone for good. Remove it.`);
  if (status === 403 && !headers.has('retry-after'))
    return new PermanentError(
      `${request} was answered with 403: the site does not let this program read the feed.`,
    );
  return undefined;
}
