import { decodeHTMLStrict } from 'entities';
import { Parser } from 'htmlparser2';
import { PermanentError, TransientError } from '../../connector-kit/index.ts';
import { maxDepth, maxFeedElements } from '../../values/limits.ts';

/** Lowercase names with the canonical prefix. */
export interface Element {
  name: string;
  attributes: Record<string, string>;
  children: (Element | string)[];
}

const prefixes: Record<string, string> = {
  'http://www.w3.org/2005/atom': 'atom',
  'http://purl.org/atom/ns#': 'atom',
  'http://purl.org/rss/1.0': '',
  'http://my.netscape.com/rdf/simple/0.9': '',
  'http://channel.netscape.com/rdf/simple/0.9': '',
  'http://backend.userland.com/rss2': '',
  'http://www.w3.org/1999/02/22-rdf-syntax-ns#': 'rdf',
  'http://purl.org/rss/1.0/modules/content': 'content',
  'http://purl.org/dc/elements/1.1': 'dc',
  'http://purl.org/dc/terms': 'dcterms',
  'http://search.yahoo.com/mrss': 'media',
  'http://www.itunes.com/dtds/podcast-1.0.dtd': 'itunes',
  'http://www.w3.org/1999/xhtml': 'xhtml',
};

interface Namespaces {
  declared: Map<string, string>;
  outer: Namespaces | undefined;
}

interface Open {
  element: Element;
  namespaces: Namespaces | undefined;
}

/**
 * Tolerates undeclared entities, stray ampersands and unclosed tags; ignores declared entities and
 * external references (XXE).
 */
export function parseXml(text: string): Element | undefined {
  const open: Open[] = [];
  let root: Element | undefined;
  let isRaw = false;
  let elements = 0;
  const parser = new Parser(
    {
      onopentag(rawName, rawAttributes) {
        if (open.length >= maxDepth.feed) throw new PermanentError('The feed is nested too deeply.');
        if (++elements > maxFeedElements) throw new PermanentError('The feed has too many elements.');
        const parent = open.at(-1);
        const namespaces = namespacesOf(rawAttributes, parent?.namespaces);
        const element: Element = {
          name: nameOf(rawName, namespaces),
          attributes: decodedAttributes(rawAttributes),
          children: [],
        };
        if (parent) parent.element.children.push(element);
        else root ??= element;
        open.push({ element, namespaces });
      },
      ontext(data) {
        open.at(-1)?.element.children.push(isRaw ? data : decodeHTMLStrict(data));
      },
      oncdatastart() {
        isRaw = true;
      },
      oncdataend() {
        isRaw = false;
      },
      onclosetag() {
        open.pop();
      },
    },
    { xmlMode: true, decodeEntities: false, lowerCaseTags: true },
  );
  parser.write(text);
  // A partial last item would look like an edit later.
  if (open.length > 0) throw new TransientError('The feed is truncated.');
  parser.end();
  return root;
}

/** Chained: copying is quadratic in hostile documents. */
function namespacesOf(
  attributes: Record<string, string>,
  outer: Namespaces | undefined,
): Namespaces | undefined {
  const declared = Object.entries(attributes).filter(([name]) => /^xmlns(:|$)/i.test(name));
  if (declared.length === 0) return outer;
  return {
    declared: new Map(declared.map(([name, uri]) => [name.slice(6).toLowerCase(), keyOf(uri)])),
    outer,
  };
}

function namespaceOf(prefix: string, within: Namespaces | undefined): string | undefined {
  for (let scope = within; scope; scope = scope.outer)
    if (scope.declared.has(prefix)) return scope.declared.get(prefix);
  return undefined;
}

const keyOf = (uri: string) => uri.trim().toLowerCase().replace(/\/$/, '');

/** Undeclared prefixes keep their usual meaning. */
function nameOf(name: string, namespaces: Namespaces | undefined): string {
  const colon = name.indexOf(':');
  const [prefix, local] = colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)];
  const canonicalPrefix = prefixes[namespaceOf(prefix, namespaces) ?? ''] ?? prefix;
  return canonicalPrefix === '' ? local : `${canonicalPrefix}:${local}`;
}

function decodedAttributes(attributes: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name.toLowerCase(), decodeHTMLStrict(value)]),
  );
}

export function childrenOf({ children }: Element, ...names: string[]): Element[] {
  return children.filter(
    (child): child is Element => typeof child !== 'string' && names.includes(child.name),
  );
}

export function childOf(element: Element, ...names: string[]): Element | undefined {
  for (const name of names) {
    const [found] = childrenOf(element, name);
    if (found) return found;
  }
  return undefined;
}

export function textOf(element: Element | undefined): string | undefined {
  const text = element && plainText(element).trim();
  return text === '' ? undefined : text;
}

const plainText = ({ children }: Element): string =>
  children.map((child) => (typeof child === 'string' ? child : plainText(child))).join('');

/** Markup if there are child elements (XHTML, unescaped HTML). */
export function markupOf(element: Element | undefined): string | undefined {
  if (!element?.children.some((child) => typeof child !== 'string')) return textOf(element);
  return element.children.map(serialize).join('').trim();
}

function serialize(node: Element | string): string {
  if (typeof node === 'string') return node.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  const name = node.name.replace(/^\w+:/, '');
  const attributes = Object.entries(node.attributes)
    .filter(([attribute]) => !attribute.startsWith('xmlns'))
    .map(
      ([attribute, value]) => ` ${attribute}="${value.replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`,
    );
  return `<${name}${attributes.join('')}>${node.children.map(serialize).join('')}</${name}>`;
}
