import { contentHash, type Signal } from '../../connector-kit/index.ts';
import type { Feed, Item } from './item.ts';

/** Which items of a feed were seen, and in which version: short hashes of both. */
export type Known = Record<string, string>;

const longest = { title: 1000, summary: 20_000, content: 100_000 };

/** Long enough to tell items of one feed apart, and versions of one item; short, because a cursor holds thousands. */
const [nameLength, versionLength] = [12, 10];

/**
 * What is new in a feed, the oldest first, and what is known afterwards. What has left the feed stays known as long as there
 * is room, in case it comes back.
 */
export function newsOf(
  feed: Feed & { url: string },
  known: Known,
  { most, seenAt }: { most: number; seenAt: Date },
): { signals: Signal[]; known: Known } {
  const signals: Signal[] = [];
  const now = new Map<string, string>();
  for (const item of feed.items) {
    const hash = contentHash(item);
    const name = contentHash(item.id).slice(0, nameLength);
    const version = hash.slice(0, versionLength);
    now.set(name, version);
    if (known[name] === version) continue;
    signals.push({
      ...signalOf(feed, item, Object.hasOwn(known, name), seenAt),
      dedupeKey: `${feed.url} ${item.id}#${hash}`,
    });
  }
  const gone = Object.entries(known).filter(([name]) => !now.has(name));
  return { signals: signals.reverse(), known: Object.fromEntries([...now, ...gone].slice(0, most)) };
}

function signalOf(feed: Feed & { url: string }, item: Item, isKnown: boolean, seenAt: Date): Signal {
  const { published, updated } = item;
  return {
    kind: isKnown ? 'item.updated' : 'item.published',
    occurredAt: (isKnown ? (updated ?? seenAt) : (published ?? updated)) ?? seenAt,
    payload: {
      feed: { url: feed.url, title: cut(feed.title, longest.title) },
      ...item,
      title: cut(item.title, longest.title),
      summary: cut(item.summary, longest.summary),
      content: cut(item.content, longest.content),
    },
  };
}

const cut = (text: string | null, length: number) =>
  text !== null && text.length > length ? `${text.slice(0, length)}…` : text;
