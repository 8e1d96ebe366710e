import { addressOf, type Feed, firstItems, type Item, itemOf } from './item.ts';
import { childOf, childrenOf, type Element, markupOf, textOf } from './xml.ts';

const elementNames = (name: string) => [`atom:${name}`, name];

export function atomFeed(root: Element, url: string): Feed {
  const base = addressOf(root.attributes['xml:base'], url) ?? url;
  const authors = authorsOf(root);
  return {
    title: markupOf(childOf(root, ...elementNames('title'))) ?? null,
    items: firstItems(childrenOf(root, ...elementNames('entry'))).map((entry) =>
      atomItem(entry, base, authors),
    ),
  };
}

function atomItem(entry: Element, feedBase: string, feedAuthors: (string | undefined)[]): Item {
  const base = addressOf(entry.attributes['xml:base'], feedBase) ?? feedBase;
  const links = childrenOf(entry, ...elementNames('link')).map(({ attributes }) => attributes);
  const authors = authorsOf(entry);
  const content = childOf(entry, ...elementNames('content'));
  const text = (...names: string[]) => textOf(childOf(entry, ...names.flatMap(elementNames)));
  return itemOf(
    {
      id: text('id'),
      title: markupOf(childOf(entry, ...elementNames('title'))),
      url: links.find(({ rel = 'alternate' }) => rel === 'alternate')?.['href'] ?? content?.attributes['src'],
      summary: markupOf(childOf(entry, ...elementNames('summary'))),
      content: markupOf(unwrapped(content)),
      authors: authors.length > 0 ? authors : feedAuthors,
      categories: childrenOf(entry, ...elementNames('category')).map(
        ({ attributes }) => attributes['label'] ?? attributes['term'],
      ),
      published: text('published', 'issued', 'created'),
      updated: text('updated', 'modified'),
      enclosures: links
        .filter(({ rel }) => rel === 'enclosure')
        .map(({ href, type, length }) => ({ url: href, type, bytes: length })),
    },
    base,
  );
}

function authorsOf(element: Element): (string | undefined)[] {
  return childrenOf(element, ...elementNames('author')).map(
    (author) =>
      textOf(childOf(author, ...elementNames('name'))) ?? textOf(childOf(author, ...elementNames('email'))),
  );
}

function unwrapped(content: Element | undefined): Element | undefined {
  if (content?.attributes['type'] !== 'xhtml') return content;
  return childOf(content, 'xhtml:div', 'div', 'atom:div') ?? content;
}
