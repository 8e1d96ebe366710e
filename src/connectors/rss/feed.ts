import { Parser } from 'htmlparser2';
import { contentHash, PermanentError, TransientError } from '../../connector-kit/index.ts';
import { atomFeed } from './atom.ts';
import { addressOf, type Feed, type Item } from './item.ts';
import { jsonFeed } from './json-feed.ts';
import { rssFeed } from './rss.ts';
import { parseXml } from './xml.ts';

/** Reads a feed of any kind. `url` is where it came from in the end. */
export function readFeed(text: string, url: string): Feed {
  const feed = parsed(text.trimStart(), url);
  return { ...feed, items: distinguished(feed.items) };
}

function parsed(text: string, url: string): Feed {
  if (/^[{[]/.test(text)) return jsonFeed(jsonOf(text), url);
  if (/^<(?:!doctype\s+html|html)\b/i.test(withoutProlog(text.slice(0, 4096)))) throw webPage(text, url);
  const root = text.startsWith('<') ? parseXml(text) : undefined;
  switch (root?.name) {
    case 'rss':
    case 'rdf:rdf':
      return rssFeed(root, url);
    case 'atom:feed':
    case 'feed':
      return atomFeed(root, url);
    default:
      throw new PermanentError(
        `${url} is not a feed: it is neither RSS, nor Atom, nor a JSON Feed${root ? `, but <${root.name.slice(0, 50)}>` : ''}.`,
      );
  }
}

/** What comes after the XML declaration and comments. */
function withoutProlog(text: string): string {
  let rest = text;
  for (;;) {
    const end = rest.startsWith('<?') ? '?>' : rest.startsWith('<!--') ? '-->' : undefined;
    if (end === undefined) return rest;
    const at = rest.indexOf(end);
    rest = at < 0 ? '' : rest.slice(at + end.length).trimStart();
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TransientError('The feed breaks off before its end, or is not JSON.');
  }
}

/** People give the address of a page; many a page names its feed. */
function webPage(text: string, url: string): PermanentError {
  const feeds = new Set<string>();
  const parser = new Parser({
    onopentag(name, { rel = '', type = '', href }) {
      const isFeed = name === 'link' && /\balternate\b/i.test(rel) && /rss|atom|feed\+json/i.test(type);
      const address = isFeed ? addressOf(href, url) : undefined;
      if (address && feeds.size < 5) feeds.add(address);
    },
  });
  // Only the head: what comes after is for people.
  parser.end(text.slice(0, 64 * 1024));
  const hint =
    feeds.size === 0
      ? 'It names none either.'
      : `It names ${[...feeds].join(', ')}: use that as the url instead.`;
  return new PermanentError(`${url} is a web page, not a feed. ${hint}`);
}

/** Some feeds give several items one id: then their address, and at last what they say, tells them apart. */
function distinguished(items: readonly Item[]): Item[] {
  const byAddress = renamed(items, ({ id, url }) => `${id} ${url ?? ''}`);
  const distinct = renamed(byAddress, (item) => `${item.id} ${contentHash(item)}`);
  return [...new Map(distinct.map((item) => [item.id, item])).values()];
}

function renamed(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  const counts = new Map<string, number>();
  for (const { id } of items) counts.set(id, (counts.get(id) ?? 0) + 1);
  return items.map((item) => ((counts.get(item.id) ?? 0) > 1 ? { ...item, id: nameOf(item) } : item));
}
