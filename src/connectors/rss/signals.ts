import { contentHash, type PayloadsOf, type SignalOf, typeOnly } from '../../connector-kit/index.ts';
import type { Feed, Item } from './item.ts';

interface ItemPayload extends Item {
  feed: { url: string; title: string | null };
}

const item = typeOnly<ItemPayload>();
export const signalSchemas = { 'item.published': item, 'item.updated': item };
export type RssPayloads = PayloadsOf<typeof signalSchemas>;
export type RssSignal = SignalOf<RssPayloads>;

/** Hashes of the ids and versions seen. */
export type Known = Record<string, string>;

const maxLengths = { title: 1000, summary: 20_000, content: 100_000 };

/** A cursor contains thousands. */
const [nameLength, versionLength] = [12, 10];

/** Oldest first. Items that left stay known, space permitting: they may return. */
export function newsOf(
  feed: Feed & { url: string },
  known: Known,
  { maxKnown, seenAt }: { maxKnown: number; seenAt: Date },
): { signals: RssSignal[]; known: Known } {
  const signals: RssSignal[] = [];
  const current = new Map<string, string>();
  for (const item of feed.items) {
    const hash = contentHash(item);
    const name = contentHash(item.id).slice(0, nameLength);
    const version = hash.slice(0, versionLength);
    current.set(name, version);
    if (known[name] === version) continue;
    signals.push({
      ...signalOf(feed, item, Object.hasOwn(known, name), seenAt),
      dedupeKey: `${feed.url} ${item.id}#${hash}`,
    });
  }
  const removed = Object.entries(known).filter(([name]) => !current.has(name));
  return {
    signals: signals.reverse(),
    known: Object.fromEntries([...current, ...removed].slice(0, maxKnown)),
  };
}

function signalOf(feed: Feed & { url: string }, item: Item, isKnown: boolean, seenAt: Date): RssSignal {
  const { published, updated } = item;
  return {
    kind: isKnown ? 'item.updated' : 'item.published',
    occurredAt: (isKnown ? (updated ?? seenAt) : (published ?? updated)) ?? seenAt,
    payload: {
      feed: { url: feed.url, title: truncate(feed.title, maxLengths.title) },
      ...item,
      title: truncate(item.title, maxLengths.title),
      summary: truncate(item.summary, maxLengths.summary),
      content: truncate(item.content, maxLengths.content),
    },
  };
}

const truncate = (text: string | null, length: number) =>
  text !== null && text.length > length ? `${text.slice(0, length)}…` : text;
