import { Parser } from 'htmlparser2';
import { contentHash, PermanentError, TransientError } from '../../connector-kit/index.ts';
import { atomFeed } from './atom.ts';
import { addressOf, type Feed, type Item } from './item.ts';
import { jsonFeed } from './json-feed.ts';
import { rssFeed } from './rss.ts';
import { parseXml } from './xml.ts';

/** `url` is the final URL. */
export function readFeed(text: string, url: string): Feed {
  const feed = parseFeed(text.trimStart(), url);
  return { ...feed, items: withUniqueIds(feed.items) };
}

function parseFeed(text: string, url: string): Feed {
  if (/^[{[]/.test(text)) return jsonFeed(jsonOf(text), url);
  if (/^<(?:!doctype\s+html|html)\b/i.test(withoutProlog(text.slice(0, 4096)))) throw webPageError(text, url);
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
        `${url} is not a feed: it is neither RSS, nor Atom, ` +
          `nor a JSON Feed${root ? `, but <${root.name.slice(0, 50)}>` : ''}.`,
      );
  }
}

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
    throw new TransientError('The feed is truncated or not JSON.');
  }
}

function webPageError(text: string, url: string): PermanentError {
  const feeds = new Set<string>();
  const parser = new Parser({
    onopentag(name, { rel = '', type = '', href }) {
      const isFeed = name === 'link' && /\balternate\b/i.test(rel) && /rss|atom|feed\+json/i.test(type);
      const address = isFeed ? addressOf(href, url) : undefined;
      if (address && feeds.size < 5) feeds.add(address);
    },
  });
  parser.end(text.slice(0, 64 * 1024));
  const hint =
    feeds.size === 0
      ? 'It links to none either.'
      : `It links to ${[...feeds].join(', ')}: use that as the url instead.`;
  return new PermanentError(`${url} is a web page, not a feed. ${hint}`);
}

/** Some feeds repeat ids. */
function withUniqueIds(items: readonly Item[]): Item[] {
  const byAddress = renameDuplicates(items, ({ id, url }) => `${id} ${url ?? ''}`);
  const distinct = renameDuplicates(byAddress, (item) => `${item.id} ${contentHash(item)}`);
  return [...new Map(distinct.map((item) => [item.id, item])).values()];
}

function renameDuplicates(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  const counts = new Map<string, number>();
  for (const { id } of items) counts.set(id, (counts.get(id) ?? 0) + 1);
  return items.map((item) => ((counts.get(item.id) ?? 0) > 1 ? { ...item, id: nameOf(item) } : item));
}
