import { z } from 'zod';
import { object, oneOf, path, text, whole } from './schema-parts.ts';

const size = object({
  parameter: text('the name of a parameter').describe('The parameter that says how many records a page has.'),
  value: whole(1, 10_000).describe('How many to ask for.'),
});
const within = oneOf(['query', 'json'])
  .optional()
  .describe('Where the parameter goes: `query` (unless given), or the body, where dots lead into it.');
const hasMore = path.optional().describe('Path of a flag: the walk goes on only where it is true.');
const isLast = path.optional().describe('Path of a flag: the walk ends where it is true.');

const paginationTypes = ['none', 'link', 'next_url', 'cursor', 'page', 'offset'] as const;
const paginationMust = `one of ${paginationTypes.join(', ')}`;
/** How the next page is got. */
export const pagination = z.discriminatedUnion(
  'type',
  [
    object({ type: z.literal('none').describe('One answer holds everything.') }),
    object({ type: z.literal('link').describe('The next page is in the `Link` header.') }),
    object({
      type: z.literal('next_url').describe('The answer holds the address of the next page.'),
      path: path.describe('Path of the address.'),
    }),
    object({
      type: z.literal('cursor').describe('The answer holds a token for the next page.'),
      path: path.describe(
        'Path of the token, such as `meta.next`, or `data[-1].id` for the last record’s id.',
      ),
      parameter: text('the name of a parameter').describe('The parameter that takes the token.'),
      in: within,
      size: size.optional().describe('How many records to ask for.'),
      hasMore,
      isLast,
    }),
    object({
      type: z.literal('page').describe('Pages have numbers.'),
      parameter: text('the name of a parameter').describe('The parameter that takes the number.'),
      start: whole(0, 1).optional().describe('The number of the first page; 1 unless given.'),
      in: within,
      size: size.optional().describe('How many records to ask for.'),
      hasMore,
      isLast,
      totalPages: path.optional().describe('Path of the number of pages.'),
    }),
    object({
      type: z.literal('offset').describe('Records are counted.'),
      parameter: text('the name of a parameter').describe('The parameter that takes how many to leave out.'),
      in: within,
      size: size.optional().describe('How many records to ask for.'),
      hasMore,
      isLast,
      total: path.optional().describe('Path of the number of all records.'),
    }),
  ],
  {
    error: (issue) =>
      (issue.code as string) === 'invalid_type' ? 'an object such as { type: link }' : paginationMust,
  },
);
