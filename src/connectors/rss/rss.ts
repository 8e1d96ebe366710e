import { addressOf, type Feed, firstItems, type Item, itemOf, type RawItem } from './item.ts';
import { childOf, childrenOf, type Element, markupOf, textOf } from './xml.ts';

/** In RSS 0.90 and 1.0, items are beside the channel. */
export function rssFeed(root: Element, url: string): Feed {
  const channel = childOf(root, 'channel') ?? root;
  const base = addressOf(root.attributes['xml:base'] ?? channel.attributes['xml:base'], url) ?? url;
  const items = [...childrenOf(channel, 'item'), ...(channel === root ? [] : childrenOf(root, 'item'))];
  return {
    title: textOf(childOf(channel, 'title')) ?? null,
    items: firstItems(items).map((item) => rssItem(item, base)),
  };
}

function rssItem(item: Element, base: string): Item {
  const itemBase = addressOf(item.attributes['xml:base'], base) ?? base;
  const guid = childOf(item, 'guid');
  const text = (...names: string[]) => textOf(childOf(item, ...names));
  const texts = (...names: string[]) => childrenOf(item, ...names).map(textOf);
  return itemOf(
    {
      id: textOf(guid) ?? aboutOf(item),
      title: text('title', 'dc:title', 'media:title'),
      url: text('link') ?? atomLink(item) ?? permanentLink(guid),
      summary: markupOf(
        childOf(item, 'description', 'dc:description', 'itunes:summary', 'media:description'),
      ),
      content: markupOf(childOf(item, 'content:encoded')),
      authors: [...texts('dc:creator'), ...texts('author'), ...texts('itunes:author')],
      categories: texts('category', 'dc:subject'),
      published: text('pubdate', 'dc:date', 'dcterms:issued', 'dcterms:created', 'atom:published'),
      updated: text('atom:updated', 'dcterms:modified'),
      enclosures: enclosuresOf(item),
    },
    itemBase,
  );
}

function aboutOf({ attributes }: Element): string | undefined {
  return Object.entries(attributes).find(([name]) => /^(?:\w+:)?about$/.test(name))?.[1];
}

function atomLink(item: Element): string | undefined {
  const links = childrenOf(item, 'atom:link').map(({ attributes }) => attributes);
  return links.find(({ rel = 'alternate' }) => rel === 'alternate')?.['href'];
}

function permanentLink(guid: Element | undefined): string | undefined {
  const text = guid?.attributes['ispermalink'] === 'false' ? undefined : textOf(guid);
  return text !== undefined && /^https?:\/\//i.test(text) ? text : undefined;
}

function enclosuresOf(item: Element): NonNullable<RawItem['enclosures']> {
  const media = [item, ...childrenOf(item, 'media:group')].flatMap((holder) =>
    childrenOf(holder, 'media:content'),
  );
  return [
    ...childrenOf(item, 'enclosure').map(({ attributes }) => ({
      url: attributes['url'],
      type: attributes['type'],
      bytes: attributes['length'],
    })),
    ...media.map(({ attributes }) => ({
      url: attributes['url'],
      type: attributes['type'],
      bytes: attributes['filesize'],
    })),
  ];
}
