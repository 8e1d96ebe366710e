import { contentHash } from '../../connector-kit/index.ts';
import { parseDate } from './dates.ts';

/** An item as every kind of feed has it. */
export interface Item {
  /** What the feed calls it: guid, id, else its address, else a hash of what it says. */
  id: string;
  title: string | null;
  url: string | null;
  summary: string | null;
  content: string | null;
  authors: string[];
  categories: string[];
  /** ISO-8601, or null where the feed does not say, or says something that is no time. */
  published: string | null;
  updated: string | null;
  enclosures: Enclosure[];
}

interface Enclosure {
  url: string;
  type: string | null;
  bytes: number | null;
}

/** More than any feed that is meant to be read; what is beyond is not even looked at. */
export const maxItems = 20_000;

/** One more, so that it can be told that there are too many. */
export const firstItems = <T>(items: readonly T[]): T[] => items.slice(0, maxItems + 1);

export interface Feed {
  title: string | null;
  items: Item[];
}

/** What was found in an item, before it is put in order. */
export interface Found {
  id?: string | undefined;
  title?: string | undefined;
  url?: string | undefined;
  summary?: string | undefined;
  content?: string | undefined;
  authors?: (string | undefined)[];
  categories?: (string | undefined)[];
  published?: string | undefined;
  updated?: string | undefined;
  enclosures?: { url: string | undefined; type: string | undefined; bytes: string | number | undefined }[];
}

const maxListed = 100;

/** Addresses become whole ones, times instants, lists lists without repetitions. */
export function itemOf(found: Found, base: string): Item {
  const item = {
    title: found.title ?? null,
    url: addressOf(found.url, base) ?? null,
    summary: found.summary ?? null,
    content: found.content ?? null,
    authors: distinct(found.authors),
    categories: distinct(found.categories),
    published: parseDate(found.published)?.toISOString() ?? null,
    updated: parseDate(found.updated)?.toISOString() ?? null,
    enclosures: enclosuresOf(found.enclosures ?? [], base),
  };
  return { id: found.id ?? item.url ?? contentHash(item), ...item };
}

/** A whole address on the web; others, such as scripts, are none. */
export function addressOf(text: string | undefined, base: string): string | undefined {
  const trimmed = text?.trim();
  if (!trimmed || !URL.canParse(trimmed, base)) return undefined;
  const url = new URL(trimmed, base);
  return /^https?:$/.test(url.protocol) ? url.href : undefined;
}

const distinct = (texts: (string | undefined)[] = []) =>
  [...new Set(texts.map((text) => text?.trim()).filter((text): text is string => !!text))].slice(
    0,
    maxListed,
  );

function enclosuresOf(found: NonNullable<Found['enclosures']>, base: string): Enclosure[] {
  const byUrl = new Map<string, Enclosure>();
  for (const { url: given, type, bytes } of found) {
    const url = addressOf(given, base);
    const size = Number(bytes);
    if (url === undefined || byUrl.has(url)) continue;
    byUrl.set(url, { url, type: type ?? null, bytes: Number.isSafeInteger(size) && size > 0 ? size : null });
  }
  return [...byUrl.values()].slice(0, maxListed);
}
