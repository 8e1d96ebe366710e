import { z } from 'zod';
import { type Connector, defineConnector, type Signal } from '../connector.ts';
import { RateLimitedError } from '../errors.ts';

/**
 * Providers that exist only in this process, so that the demo has something to watch: each account has something new
 * every few seconds, some have a backlog to page through, and now and then one is rate limited.
 */
const kinds: Record<string, { name: string; kinds: string[] }> = {
  github: {
    name: 'GitHub',
    kinds: ['issue.opened', 'pull_request.merged', 'comment.created', 'release.published'],
  },
  slack: { name: 'Slack', kinds: ['message.posted', 'reaction.added', 'channel.created'] },
  'google-calendar': { name: 'Google Calendar', kinds: ['event.created', 'event.moved', 'event.cancelled'] },
  postgres: { name: 'Postgres', kinds: ['row.inserted', 'row.updated'] },
};

/** One item every so often; a page holds a few of them. */
const secondsPerItem = 7;
const pageSize = 20;
/** A first sync finds this many items that were there before. */
const backlog = 55;

const cursorSchema = z.object({ item: z.number().int() });

function demoConnector(provider: string, about: { name: string; kinds: string[] }): Connector {
  return defineConnector({
    provider,
    name: about.name,
    cursorSchema,
    sync: async ({ connection, cursor, job, log }) => {
      const newest = Math.floor(job.scheduledAt.getTime() / 1000 / secondsPerItem);
      const from = (cursor?.item ?? newest - backlog) + 1;
      // Every fortieth page of an account, on its first try.
      if (job.attempts === 0 && hash(`${connection.id}${from}`) % 40 === 0)
        throw new RateLimitedError({ retryAfterSeconds: 3 });
      const to = Math.min(newest, from + pageSize - 1);
      const signals: Signal[] = [];
      for (let item = from; item <= to; item++) signals.push(signalOf(about, connection.externalId, item));
      log.trace(`demo: items ${from} to ${to}`);
      return { signals, nextCursor: { item: Math.max(to, from - 1) }, hasMore: to < newest };
    },
  });
}

function signalOf(about: { kinds: string[] }, account: string | undefined, item: number): Signal {
  const kind = about.kinds[hash(`${account}${item}`) % about.kinds.length] as string;
  return {
    kind,
    occurredAt: new Date(item * secondsPerItem * 1000),
    payload: { account, item, title: `${kind} number ${item % 1000}` },
    dedupeKey: `item-${item}`,
  };
}

function hash(text: string): number {
  let value = 7;
  for (const character of text) value = (value * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return value;
}

export const demoConnectors = Object.entries(kinds).map(([provider, about]) =>
  demoConnector(provider, about),
);
