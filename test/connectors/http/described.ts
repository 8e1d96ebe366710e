import type { HttpDescription } from '../../../src/connectors/index.ts';
import type { ApiOptions, JsonApi } from '../../support/providers/json-api.ts';

type Stream = HttpDescription['streams'][string];

/** Builds the description of a test API. */
export function describeApi({ url, options }: JsonApi, change: Partial<Stream> = {}): HttpDescription {
  const { sort = 'ascending', since = 'inclusive', sinceAs = 'iso', token } = options;
  return {
    provider: 'tracker',
    baseUrl: `${url}/v1`,
    auth: token === undefined ? { type: 'none' } : { type: 'bearer' },
    streams: {
      items: {
        request: { path: '/items' },
        records: 'data.items',
        pagination: paginationOf(options),
        cursor: {
          path: 'updated_at',
          order: sort,
          ...(since !== 'unknown' && {
            parameter: 'since',
            inclusive: since === 'inclusive',
            sendAs: sinceAs,
          }),
        },
        signal: { kind: 'item.{status}', key: 'id', deleted: { path: 'deleted', equals: true } },
        ...change,
      },
    },
  };
}

function paginationOf({ pagination }: ApiOptions): NonNullable<Stream['pagination']> {
  switch (pagination) {
    case 'link':
    case 'link_pages':
      return { type: 'link' };
    case 'next_url':
      return { type: 'next_url', path: 'paging.next' };
    case 'cursor':
      return { type: 'cursor', path: 'meta.next', parameter: 'after', hasMore: 'meta.has_more' };
    case 'page':
      return { type: 'page', parameter: 'page', size: { parameter: 'per_page', value: 100 } };
    case 'offset':
      return { type: 'offset', parameter: 'offset', size: { parameter: 'limit', value: 100 } };
    case 'none':
      return { type: 'none' };
  }
}
