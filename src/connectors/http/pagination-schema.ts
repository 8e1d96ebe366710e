import { z } from 'zod';
import { integer, object, oneOf, path, text } from './schema-parts.ts';

const size = object({
  parameter: text('the name of a parameter').describe('Page size parameter.'),
  value: integer(1, 10_000).describe('Records per page.'),
});
const within = oneOf(['query', 'json'])
  .optional()
  .describe('Location of the parameter: `query` (default), or the JSON body, with a dotted path.');
const hasMore = path.optional().describe('Path of a flag: true if there are more pages.');
const isLast = path.optional().describe('Path of a flag: true on the last page.');

const paginationTypes = ['none', 'link', 'next_url', 'cursor', 'page', 'offset'] as const;
const paginationRule = `one of ${paginationTypes.join(', ')}`;
export const pagination = z.discriminatedUnion(
  'type',
  [
    object({ type: z.literal('none').describe('A single page.') }),
    object({ type: z.literal('link').describe('The next page is in the `Link` header.') }),
    object({
      type: z.literal('next_url').describe('The response contains the URL of the next page.'),
      path: path.describe('Path of the URL.'),
    }),
    object({
      type: z.literal('cursor').describe('The response contains a token for the next page.'),
      path: path.describe(
        'Path of the token, such as `meta.next`, or `data[-1].id` for the last record’s id.',
      ),
      parameter: text('the name of a parameter').describe('Parameter for the token.'),
      in: within,
      size: size.optional().describe('Page size.'),
      hasMore,
      isLast,
    }),
    object({
      type: z.literal('page').describe('Numbered pages.'),
      parameter: text('the name of a parameter').describe('Parameter for the page number.'),
      start: integer(0, 1).optional().describe('Number of the first page. Default: 1.'),
      in: within,
      size: size.optional().describe('Page size.'),
      hasMore,
      isLast,
      totalPages: path.optional().describe('Path of the page count.'),
    }),
    object({
      type: z.literal('offset').describe('Offset of the first record.'),
      parameter: text('the name of a parameter').describe('Parameter for the offset.'),
      in: within,
      size: size.optional().describe('Page size.'),
      hasMore,
      isLast,
      total: path.optional().describe('Path of the total record count.'),
    }),
  ],
  {
    error: (issue) =>
      (issue.code as string) === 'invalid_type' ? 'an object such as { type: link }' : paginationRule,
  },
);
