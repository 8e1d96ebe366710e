import { createHash } from 'node:crypto';
import { type ProviderRequest, type Reply, startLocalServer } from './local-server.ts';

export interface Post {
  guid: string;
  title: string;
  published: Date;
}

export type Format = 'rss' | 'rdf' | 'atom' | 'json';

/** A site with feeds in all formats and correct ETags. */
export async function startFeeds() {
  const replies = new Map<string, (request: ProviderRequest) => Reply>();
  const requests: ProviderRequest[] = [];
  const refusals: Reply[] = [];
  const url = await startLocalServer((request) => {
    requests.push(request);
    return refusals.shift() ?? replies.get(request.path)?.(request) ?? { status: 404, body: 'Not Found' };
  });

  return {
    url,
    requests,
    refuse: (...next: Reply[]) => void refusals.push(...next),
    serve: (path: string, reply: Reply | ((request: ProviderRequest) => Reply)) =>
      void replies.set(path, typeof reply === 'function' ? reply : () => reply),
    publish(path: string, posts: readonly Post[], format: Format = 'rss', window = 100_000): string {
      replies.set(path, (request) => conditional(request, serialize(format, posts.slice(0, window))));
      return `${url}${path}`;
    },
  };
}

export const post = (n: number): Post => ({
  guid: `post-${String(n).padStart(5, '0')}`,
  title: `Post ${n} <b>&amp;</b> more`,
  published: new Date(Date.UTC(2026, 0, 1) + n * 60_000),
});

/** Newest first. */
export const posts = (count: number) => Array.from({ length: count }, (_, i) => post(count - 1 - i));

function conditional({ headers }: ProviderRequest, body: string): Reply {
  const etag = `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
  if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
  return { headers: { etag, 'content-type': 'application/xml; charset=utf-8' }, body };
}

function serialize(format: Format, items: readonly Post[]): string {
  switch (format) {
    case 'rss':
      return `<?xml version="1.0"?><rss version="2.0"><channel><title>A site</title>${items
        .map(
          ({ guid, title, published }) =>
            `<item><guid isPermaLink="false">${guid}</guid><title>${escaped(title)}</title><link>/${guid}</link><pubDate>${published.toUTCString()}</pubDate></item>`,
        )
        .join('')}</channel></rss>`;
    case 'rdf':
      return `<?xml version="1.0"?><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" xmlns:d="http://purl.org/dc/elements/1.1/"><channel><title>A site</title></channel>${items
        .map(
          ({ guid, title, published }) =>
            `<item r:about="${guid}"><title>${escaped(title)}</title><link>/${guid}</link><d:date>${published.toISOString()}</d:date></item>`,
        )
        .join('')}</r:RDF>`;
    case 'atom':
      return `<?xml version="1.0"?><a:feed xmlns:a="http://www.w3.org/2005/Atom"><a:title>A site</a:title>${items
        .map(
          ({ guid, title, published }) =>
            `<a:entry><a:id>${guid}</a:id><a:title>${escaped(title)}</a:title><a:link href="/${guid}"/><a:published>${published.toISOString()}</a:published></a:entry>`,
        )
        .join('')}</a:feed>`;
    case 'json':
      return JSON.stringify({
        version: 'https://jsonfeed.org/version/1.1',
        title: 'A site',
        items: items.map(({ guid, title, published }) => ({
          id: guid,
          title,
          url: `/${guid}`,
          date_published: published.toISOString(),
        })),
      });
  }
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
