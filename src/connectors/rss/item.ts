import { contentHash } from '../../connector-kit/index.ts';
import { parseDate } from './dates.ts';

export interface Item {
  /** guid or id, else URL or content hash. */
  id: string;
  title: string | null;
  url: string | null;
  summary: string | null;
  content: string | null;
  authors: string[];
  categories: string[];
  /** ISO-8601; null if missing or invalid. */
  published: string | null;
  updated: string | null;
  enclosures: Enclosure[];
}

interface Enclosure {
  url: string;
  type: string | null;
  bytes: number | null;
}

export const maxItems = 20_000;

/** One more, to detect truncation. */
export const firstItems = <T>(items: readonly T[]): T[] => items.slice(0, maxItems + 1);

export interface Feed {
  title: string | null;
  items: Item[];
}

export interface RawItem {
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

export function itemOf(raw: RawItem, base: string): Item {
  const item = {
    title: raw.title ?? null,
    url: addressOf(raw.url, base) ?? null,
    summary: raw.summary ?? null,
    content: raw.content ?? null,
    authors: distinct(raw.authors),
    categories: distinct(raw.categories),
    published: parseDate(raw.published)?.toISOString() ?? null,
    updated: parseDate(raw.updated)?.toISOString() ?? null,
    enclosures: enclosuresOf(raw.enclosures ?? [], base),
  };
  return { id: raw.id ?? item.url ?? contentHash(item), ...item };
}

/** Undefined unless http(s). */
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

function enclosuresOf(raw: NonNullable<RawItem['enclosures']>, base: string): Enclosure[] {
  const byUrl = new Map<string, Enclosure>();
  for (const { url: rawUrl, type, bytes } of raw) {
    const url = addressOf(rawUrl, base);
    const size = Number(bytes);
    if (url === undefined || byUrl.has(url)) continue;
    byUrl.set(url, { url, type: type ?? null, bytes: Number.isSafeInteger(size) && size > 0 ? size : null });
  }
  return [...byUrl.values()].slice(0, maxListed);
}
