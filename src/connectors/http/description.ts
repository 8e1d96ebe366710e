import { z } from 'zod';
import { auth } from './auth-schema.ts';
import { pagination } from './pagination-schema.ts';
import {
  condition,
  conditions,
  flag,
  integer,
  list,
  maxLengths,
  named,
  object,
  oneOf,
  path,
  paths,
  scalar,
  template,
  text,
  values,
} from './schema-parts.ts';

export const timeFormats = ['iso', 'iso_seconds', 'date', 'epoch_seconds', 'epoch_ms'] as const;
const formats = [...timeFormats, 'number', 'text'] as const;

const cursor = object({
  path: path.describe('Path of the cursor field in a record: a change time or an increasing number.'),
  order: oneOf(['ascending', 'descending', 'none']).describe(
    'How the provider sorts the list by this field.',
  ),
  parameter: text('the name of a parameter')
    .optional()
    .describe('Query parameter for the cursor. Alternative: `{cursor}` in the request.'),
  inclusive: flag
    .optional()
    .describe('Whether the filter includes records equal to the cursor. Default: true.'),
  format: oneOf(formats).optional().describe('Format in records. Default: `iso`.'),
  sendAs: oneOf(formats).optional().describe('Format in the request. Default: `format`.'),
  lookbackSeconds: integer(0, 31_536_000)
    .optional()
    .describe('Moves each query back, for records that appear late.'),
  start: z
    .union(
      [text('a value'), z.number(), object({ daysAgo: integer(1, 36_500).describe('Number of days.') })],
      {
        error: 'a value in the format of the records, or { daysAgo: 30 }',
      },
    )
    .optional()
    .describe('Start of the first walk. Default: the beginning.'),
});

const signal = object({
  kind: z
    .union(
      [
        template,
        object({
          path: path.describe('Path of the value.'),
          map: values(text('the kind of a signal'), 'an object of values and kinds').describe(
            'Kinds by value.',
          ),
          default: text('the kind of a signal').describe('Kind for all other values.'),
        }),
      ],
      { error: 'text such as issue.{status}, or { path, map, default }' },
    )
    .describe('Signal kind. Placeholders are paths into the record; missing values become `unknown`.'),
  occurredAt: paths
    .optional()
    .describe('Path of the time; of several, the first present one. Default: the path of the cursor.'),
  key: paths.describe('Identifies a record within the stream.'),
  version: paths.optional().describe('Identifies a version of a record. Default: its content.'),
  immutable: flag.optional().describe('Records never change: each produces one signal.'),
  payload: values(path, 'an object of names and paths')
    .optional()
    .describe('Payload fields by name. Default: the whole record.'),
  skipWhen: conditions.optional().describe('Skips records that match any condition.'),
  deleted: object({
    ...condition.shape,
    kind: template.optional().describe('Kind of deletions. Default: `kind` with the suffix `.deleted`.'),
  })
    .optional()
    .describe('Condition for deleted records.'),
});

const queryValue = z.union([template, z.number(), z.boolean()], { error: 'text, a number, true or false' });
const stream = object({
  request: object({
    method: oneOf(['GET', 'POST']).optional().describe('Default: `GET`.'),
    path: template.describe('Path below the base URL. Placeholders cannot leave their segment.'),
    query: values(queryValue, 'an object of parameters')
      .optional()
      .describe('Query parameters. Those with a placeholder without a value are omitted.'),
    headers: values(template, 'an object of headers').optional().describe('Additional headers.'),
    json: z
      .json({ error: 'JSON' })
      .optional()
      .describe('Body of a `POST`; strings may contain placeholders.'),
  }).describe('The request.'),
  records: z
    .union(
      [
        z.string({ error: 'a path' }).max(maxLengths.text),
        object({
          path: path.describe('Path of the records.'),
          optional: flag.describe('Whether a response without records is an empty page.'),
        }),
      ],
      { error: 'a path such as data.items, or { path, optional }' },
    )
    .optional()
    .describe('Path of the record list in a response. Default: the response itself.'),
  pagination: pagination.optional().describe('Pagination. Default: `{ type: none }`.'),
  cursor: cursor.optional().describe('Incremental queries. Without it, every walk reads the whole list.'),
  signal: signal.describe('Maps a record to a signal.'),
});

const configTypes = ['string', 'number', 'boolean'] as const;
const configField = z.union(
  [
    z.enum(configTypes),
    object({
      type: oneOf(configTypes).describe('Type of the value.'),
      optional: flag.optional().describe('Whether it may be omitted.'),
      default: z
        .union([z.string(), z.number(), z.boolean()], { error: 'text, a number, true or false' })
        .optional()
        .describe('Value if omitted.'),
      pattern: text('a regular expression')
        .optional()
        .describe('Regular expression that must match the whole text.'),
      description: text('text').optional().describe('Shown in error messages.'),
    }),
  ],
  { error: 'string, number, boolean, or { type, optional, default, pattern, description }' },
);

const statusRule = 'a status from 200 to 599, or a list of them';
const status = integer(200, 599);
const meanings = [
  'cursor_expired',
  'rate_limited',
  'unauthorized',
  'permanent',
  'transient',
  'nothing',
] as const;
const errorRule = object({
  status: z
    .union([status, list(status, statusRule)], { error: statusRule })
    .optional()
    .describe('Response status. Default: any, including 200.'),
  path: path.optional().describe('Path of the value in the response.'),
  equals: scalar.optional().describe('Applies if the value equals this.'),
  in: list(scalar, `a list of 1 to ${maxLengths.list} values`)
    .optional()
    .describe('Applies if the value is one of these.'),
  exists: flag.optional().describe('Applies if the value is present and not null; with `false`, if not.'),
  means: oneOf(meanings).describe('Meaning of the response; `nothing`: an empty page.'),
  retryAfter: path
    .optional()
    .describe('Path of the retry delay in seconds, or of a time. Default: the response headers.'),
});

export const descriptionSchema = object(
  {
    provider: z
      .string({ error: 'a slug such as tracker' })
      .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, { error: 'a slug of a-z, 0-9, - and _, at most 63 characters' })
      .describe('Provider slug, as in `connections.provider_slug`.'),
    name: text('the name of the provider').optional().describe('Display name. Default: `provider`.'),
    baseUrl: text('a URL such as https://api.tracker.example').describe(
      'Base URL of the API. Placeholders: host labels, the whole host, or the whole URL.',
    ),
    network: oneOf(['public', 'any'])
      .optional()
      .describe(
        '`public` blocks private networks. Default: `public` if the base URL has placeholders, else `any`.',
      ),
    auth: auth.describe('Authentication with the connection’s credential.'),
    headers: values(template, 'an object of headers').optional().describe('Headers of all requests.'),
    config: named(configField, 'an object of names and types')
      .optional()
      .describe('Configuration fields of a connection.'),
    budgets: list(
      object({
        name: text('a name').describe('Budget name.'),
        per: oneOf(['credential', 'app']).describe(
          'Whether the limit applies per credential or to the whole app.',
        ),
        limit: integer(1, 1_000_000_000).describe('Number of requests …'),
        perSeconds: integer(1, 31_536_000).describe('… per this many seconds.'),
      }),
      'a list of budgets',
    )
      .optional()
      .describe('Rate limits of all requests.'),
    streams: named(stream, 'an object of names and streams').describe('The lists to sync.'),
    errors: list(errorRule, 'a list of rules')
      .optional()
      .describe('Rules for error responses. The first match applies.'),
  },
  'an object that describes an API',
);

export type HttpDescription = z.input<typeof descriptionSchema>;
export type StreamDescription = HttpDescription['streams'][string];
export type PaginationDescription = NonNullable<StreamDescription['pagination']>;
export type CursorDescription = NonNullable<StreamDescription['cursor']>;
export type SignalDescription = StreamDescription['signal'];
export type ConditionDescription = z.input<typeof condition>;
export type AuthDescription = HttpDescription['auth'];
export type ErrorDescription = NonNullable<HttpDescription['errors']>[number];
export type ConfigFieldDescription = NonNullable<HttpDescription['config']>[string];
export type Format = (typeof formats)[number];
