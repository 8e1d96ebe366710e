import { z } from 'zod';
import { PermanentError } from '../../connector-kit/index.ts';
import { type Feed, firstItems, itemOf } from './item.ts';

/** Invalid fields count as absent. */
const text = z.string().optional().catch(undefined);
const authors = z.array(z.object({ name: text })).catch([]);

const itemSchema = z.object({
  id: z
    .union([z.string(), z.number().transform(String)])
    .optional()
    .catch(undefined),
  url: text,
  external_url: text,
  title: text,
  content_html: text,
  content_text: text,
  summary: text,
  date_published: text,
  date_modified: text,
  authors,
  author: z.object({ name: text }).optional().catch(undefined),
  tags: z.array(text).catch([]),
  attachments: z
    .array(z.object({ url: text, mime_type: text, size_in_bytes: z.number().optional().catch(undefined) }))
    .catch([]),
});

const feedSchema = z.object({
  version: z.string().regex(/^https?:\/\/jsonfeed\.org\/version\/1/),
  title: text,
  authors,
  author: z.object({ name: text }).optional().catch(undefined),
  // Validated one by one, after the count is limited.
  items: z.array(z.unknown()),
});

export function jsonFeed(body: unknown, url: string): Feed {
  const checked = feedSchema.safeParse(body);
  if (!checked.success) throw new PermanentError(`${url} is JSON, but not a JSON Feed of version 1.`);
  const feed = checked.data;
  const feedAuthors = [...feed.authors, ...(feed.author ? [feed.author] : [])];
  return {
    title: feed.title ?? null,
    items: firstItems(feed.items).flatMap((rawItem) => {
      const item = itemSchema.safeParse(rawItem).data;
      if (!item) return [];
      const itemAuthors = [...item.authors, ...(item.author ? [item.author] : [])];
      return itemOf(
        {
          id: item.id,
          title: item.title,
          url: item.url ?? item.external_url,
          summary: item.summary,
          content: item.content_html ?? item.content_text,
          authors: (itemAuthors.length > 0 ? itemAuthors : feedAuthors).map(({ name }) => name),
          categories: item.tags,
          published: item.date_published,
          updated: item.date_modified,
          enclosures: item.attachments.map(({ url: address, mime_type, size_in_bytes }) => ({
            url: address,
            type: mime_type,
            bytes: size_in_bytes,
          })),
        },
        url,
      );
    }),
  };
}
