import { addressOf, type Feed, firstItems, type Item, itemOf } from './item.ts';
import { childOf, childrenOf, type Element, markupOf, textOf } from './xml.ts';

/** Also where the namespace was forgotten. */
const named = (name: string) => [`atom:${name}`, name];

/** Atom 1.0, and 0.3 as far as it has other names for the same. */
export function atomFeed(root: Element, url: string): Feed {
  const base = addressOf(root.attributes['xml:base'], url) ?? url;
  const authors = authorsOf(root);
  return {
    title: markupOf(childOf(root, ...named('title'))) ?? null,
    items: firstItems(childrenOf(root, ...named('entry'))).map((entry) => atomItem(entry, base, authors)),
  };
}

function atomItem(entry: Element, feedBase: string, feedAuthors: (string | undefined)[]): Item {
  const base = addressOf(entry.attributes['xml:base'], feedBase) ?? feedBase;
  const links = childrenOf(entry, ...named('link')).map(({ attributes }) => attributes);
  const authors = authorsOf(entry);
  const content = childOf(entry, ...named('content'));
  const text = (...names: string[]) => textOf(childOf(entry, ...names.flatMap(named)));
  return itemOf(
    {
      id: text('id'),
      title: markupOf(childOf(entry, ...named('title'))),
      url: links.find(({ rel = 'alternate' }) => rel === 'alternate')?.['href'] ?? content?.attributes['src'],
      summary: markupOf(childOf(entry, ...named('summary'))),
      content: markupOf(unwrapped(content)),
      authors: authors.length > 0 ? authors : feedAuthors,
      categories: childrenOf(entry, ...named('category')).map(
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
  return childrenOf(element, ...named('author')).map(
    (author) => textOf(childOf(author, ...named('name'))) ?? textOf(childOf(author, ...named('email'))),
  );
}

/** XHTML comes within one div that is not part of it. */
function unwrapped(content: Element | undefined): Element | undefined {
  if (content?.attributes['type'] !== 'xhtml') return content;
  return childOf(content, 'xhtml:div', 'div', 'atom:div') ?? content;
}
