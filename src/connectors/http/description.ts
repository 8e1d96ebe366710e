import { z } from 'zod';
import { auth } from './auth-schema.ts';
import { pagination } from './pagination-schema.ts';
import {
  condition,
  conditions,
  flag,
  list,
  longest,
  named,
  object,
  oneOf,
  path,
  paths,
  scalar,
  template,
  text,
  values,
  whole,
} from './schema-parts.ts';

/** What a description may say. */

export const timeFormats = ['iso', 'iso_seconds', 'date', 'epoch_seconds', 'epoch_ms'] as const;
const formats = [...timeFormats, 'number', 'text'] as const;

const cursor = object({
  path: path.describe('Path, in a record, of what moves on: when it was changed, or a growing number.'),
  order: oneOf(['ascending', 'descending', 'none']).describe('How the provider sorts the list by it.'),
  parameter: text('the name of a parameter')
    .optional()
    .describe('The parameter of the query that takes it. `{cursor}` in the request does the same.'),
  inclusive: flag
    .optional()
    .describe('Whether the provider also returns records that are exactly as old; true unless given.'),
  format: oneOf(formats).optional().describe('How records say it; `iso` unless given.'),
  sendAs: oneOf(formats).optional().describe('How the request says it; as records do unless given.'),
  lookbackSeconds: whole(0, 31_536_000)
    .optional()
    .describe('Asks for so much more than needed, for records that appear late.'),
  start: z
    .union(
      [text('a value'), z.number(), object({ daysAgo: whole(1, 36_500).describe('So many days ago.') })],
      { error: 'a value in the format of the records, or { daysAgo: 30 }' },
    )
    .optional()
    .describe('Where a first walk begins; at the very beginning unless given.'),
});

const signal = object({
  kind: z
    .union(
      [
        template,
        object({
          path: path.describe('What decides.'),
          map: values(text('the kind of a signal'), 'an object of values and kinds').describe(
            'Kind by value.',
          ),
          default: text('the kind of a signal').describe('For all other values.'),
        }),
      ],
      { error: 'text such as issue.{status}, or { path, map, default }' },
    )
    .describe('What happened. Placeholders are paths into the record; what is not there is `unknown`.'),
  occurredAt: paths
    .optional()
    .describe('When it happened: the first of these that is there; the cursor’s path unless given.'),
  key: paths.describe('What tells records of this stream apart.'),
  version: paths
    .optional()
    .describe('What tells versions of one record apart; its whole content unless given.'),
  immutable: flag.optional().describe('Records never change: each is a signal once, whatever it says later.'),
  payload: values(path, 'an object of names and paths')
    .optional()
    .describe('What to keep, by name; the whole record unless given.'),
  skipWhen: conditions.optional().describe('Records that are no signals: any of the conditions is true.'),
  deleted: object({
    ...condition.shape,
    kind: template.optional().describe('The kind; the usual one with `.deleted` behind it unless given.'),
  })
    .optional()
    .describe('How a record says that it was deleted.'),
});

const queryValue = z.union([template, z.number(), z.boolean()], { error: 'text, a number, true or false' });
const stream = object({
  request: object({
    method: oneOf(['GET', 'POST']).optional().describe('`GET` unless given.'),
    path: template.describe('Below the base URL. Each placeholder stays within its segment.'),
    query: values(queryValue, 'an object of parameters')
      .optional()
      .describe('Parameters. One with a placeholder that has no value is left out.'),
    headers: values(template, 'an object of headers')
      .optional()
      .describe('Headers, besides those of all requests.'),
    json: z.json({ error: 'JSON' }).optional().describe('The body of a `POST`, placeholders in its texts.'),
  }).describe('What to ask.'),
  records: z
    .union(
      [
        z.string({ error: 'a path' }).max(longest.text),
        object({
          path: path.describe('Where the records are.'),
          optional: flag.describe('Whether an answer without them is an empty page.'),
        }),
      ],
      { error: 'a path such as data.items, or { path, optional }' },
    )
    .optional()
    .describe('Where the list of records is in an answer; the answer itself unless given.'),
  pagination: pagination.optional().describe('How to get the next page; `{ type: none }` unless given.'),
  cursor: cursor
    .optional()
    .describe('How to ask for what is new. Without one every walk reads the whole list.'),
  signal: signal.describe('What a record becomes.'),
});

const configTypes = ['string', 'number', 'boolean'] as const;
const configField = z.union(
  [
    z.enum(configTypes),
    object({
      type: oneOf(configTypes).describe('What it must be.'),
      optional: flag.optional().describe('Whether it may be left out.'),
      default: z
        .union([z.string(), z.number(), z.boolean()], { error: 'text, a number, true or false' })
        .optional()
        .describe('What it is where it is left out.'),
      pattern: text('a regular expression')
        .optional()
        .describe('A regular expression that all of the text must match.'),
      description: text('text').optional().describe('What it is, for people.'),
    }),
  ],
  { error: 'string, number, boolean, or { type, optional, default, pattern, description }' },
);

const statusMust = 'a status from 200 to 599, or a list of them';
const status = whole(200, 599);
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
    .union([status, list(status, statusMust)], { error: statusMust })
    .optional()
    .describe('The status of the answer; any, also 200, unless given.'),
  path: path.optional().describe('What is looked at in the answer.'),
  equals: scalar.optional().describe('Applies where it is exactly this.'),
  in: list(scalar, `a list of 1 to ${longest.list} values`)
    .optional()
    .describe('Applies where it is one of these.'),
  exists: flag.optional().describe('Applies where it is there and not null; with `false`, where it is not.'),
  means: oneOf(meanings).describe('What such an answer means; `nothing`: there are no records.'),
  retryAfter: path
    .optional()
    .describe('Path of when to come back: seconds, or a time. Headers count otherwise.'),
});

export const descriptionSchema = object(
  {
    provider: z
      .string({ error: 'a slug such as tracker' })
      .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, { error: 'a slug of a-z, 0-9, - and _, at most 63 characters' })
      .describe('What `connections.provider_slug` says.'),
    name: text('the name of the provider').optional().describe('For people; the provider unless given.'),
    baseUrl: text('an address such as https://api.tracker.example').describe(
      'Where the API begins. A placeholder may be a label of the host, or all of it.',
    ),
    network: oneOf(['public', 'any'])
      .optional()
      .describe('`public` refuses private networks: unless given, where a placeholder is in the base URL.'),
    auth: auth.describe('How the connection’s credential is shown.'),
    headers: values(template, 'an object of headers').optional().describe('Headers of all requests.'),
    config: named(configField, 'an object of names and types')
      .optional()
      .describe('What a connection must say.'),
    budgets: list(
      object({
        name: text('a name').describe('What is limited.'),
        per: oneOf(['credential', 'app']).describe('Whose requests count together.'),
        limit: whole(1, 1_000_000_000).describe('How many requests.'),
        perSeconds: whole(1, 31_536_000).describe('In how many seconds.'),
      }),
      'a list of budgets',
    )
      .optional()
      .describe('What every request is paid from.'),
    streams: named(stream, 'an object of names and streams').describe('The lists to keep in sync.'),
    errors: list(errorRule, 'a list of rules')
      .optional()
      .describe('Answers that mean something else. The first that applies counts.'),
  },
  'an object that describes an API',
);

/** Describes a JSON API. */
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
