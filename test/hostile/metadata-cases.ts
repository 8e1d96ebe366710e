import { nestedText } from './odd-values.ts';

/** `connections.metadata` of another writer, as JSON text, and its expected reading. */
export interface MetadataCase {
  name: string;
  metadata: string;
  interval?: number;
  /** Invalid fields, which count as absent. */
  invalid?: readonly string[];
  /** The cursor passed to the connector. */
  cursor?: unknown;
}

const sync = (fields: string) => `{"sync":{${fields}}}`;
const invalidTime = (name: string, text: string): MetadataCase => ({
  name: `next_run_at ${name}`,
  metadata: JSON.stringify({ sync: { next_run_at: text } }),
  invalid: ['next_run_at'],
});
const validTime = (name: string, text: string): MetadataCase => ({
  name: `next_run_at ${name}`,
  metadata: JSON.stringify({ sync: { next_run_at: text } }),
});
const interval = (name: string, json: string, seconds?: number): MetadataCase => ({
  name: `an interval of ${name}`,
  metadata: sync(`"interval_seconds":${json}`),
  ...(seconds === undefined ? { invalid: ['interval_seconds'] } : { interval: seconds }),
});
const jitter = (name: string, json: string, isValid = false): MetadataCase => ({
  name: `a jitter of ${name}`,
  metadata: sync(`"last_jitter_seconds":${json}`),
  ...(!isValid && { invalid: ['last_jitter_seconds'] }),
});
const cursor = (
  name: string,
  json: string,
  expected: unknown = JSON.parse(json) ?? undefined,
): MetadataCase => ({
  name: `a cursor that is ${name}`,
  metadata: sync(`"cursor":${json}`),
  cursor: expected,
});

export const metadataCases: readonly MetadataCase[] = [
  invalidTime('in the year 275760', '+275760-09-13T00:00:00.000Z'),
  invalidTime('in the year -271821', '-271821-04-20T00:00:00.000Z'),
  invalidTime('in the year 0', '0000-01-01T00:00:00Z'),
  invalidTime('in a leap second', '2016-12-31T23:59:60Z'),
  invalidTime('at 24:00', '2025-01-01T24:00:00Z'),
  invalidTime('on February 29 of a common year', '1900-02-29T00:00:00Z'),
  invalidTime('in lowercase', '2025-01-01t00:00:00z'),
  invalidTime('in full-width digits', '２０２５-01-01T00:00:00Z'),
  invalidTime('with a trailing newline', '2025-01-01T00:00:00Z\n'),
  invalidTime('with a leading space', ' 2025-01-01T00:00:00Z'),
  invalidTime('with a byte order mark', '\ufeff2025-01-01T00:00:00Z'),
  invalidTime('with a bidirectional override', '\u202e2025-01-01T00:00:00Z'),
  invalidTime('with ten fractional digits', '2025-01-01T00:00:00.0000000001Z'),
  invalidTime('with an offset of 16 hours', '2025-01-01T00:00:00+16:00'),
  invalidTime('that is a special input of Postgres', 'now'),
  invalidTime('with SQL', `2025-01-01T00:00:00Z'; DROP TABLE connections; --`),
  invalidTime('in ISO week format', '2025-W01-1T00:00:00Z'),
  validTime('in the year 1', '0001-01-01T00:00:00Z'),
  validTime('with nine fractional digits', '2025-01-01T00:00:00.123456789Z'),
  validTime('with an offset of -15:59', '2025-01-01T00:00:00-15:59'),
  validTime('on February 29 of a leap year', '2000-02-29T00:00:00Z'),
  interval('60.0, which is 60', '60.0', 60),
  interval('6e1, which is 60', '6e1', 60),
  interval('the maximum', '86400', 86_400),
  interval('-0', '-0'),
  interval('2^63', '9223372036854775808'),
  interval('1e308', '1e308'),
  interval('1e-400', '1e-400'),
  interval('60.00000001', '60.00000001'),
  interval('"60"', '"60"'),
  interval('an object with __proto__', '{"__proto__":60}'),
  interval('a list nested 9,000 levels', nestedText(9000)),
  {
    name: 'a duplicate interval key: the last one counts',
    metadata: sync('"interval_seconds":-5,"interval_seconds":120'),
    interval: 120,
  },
  jitter('-0', '-0', true),
  jitter('2^53', '9007199254740992', true),
  jitter('half a second', '0.5'),
  jitter('NaN', '"NaN"'),
  cursor('an object with __proto__', '{"__proto__":{"polluted":true}}'),
  cursor('an object with constructor', '{"constructor":{"prototype":{"polluted":true}}}'),
  cursor('SQL', JSON.stringify(`'; DROP TABLE signals; --`)),
  cursor('false', 'false'),
  cursor('0', '0'),
  cursor('an empty string', '""'),
  cursor('null, which counts as absent', 'null'),
  cursor('a number beyond a double', '1e400', Number.POSITIVE_INFINITY),
  cursor('a list nested 500 levels', nestedText(500)),
  cursor('200 KB of text', JSON.stringify('x'.repeat(200_000))),
  { name: 'sync inside __proto__', metadata: '{"__proto__":{"sync":{"interval_seconds":60,"cursor":1}}}' },
  {
    name: 'fields inside __proto__ of sync',
    metadata: sync('"__proto__":{"interval_seconds":60,"cursor":1}'),
  },
  { name: 'keys in another case', metadata: '{"Sync":{"Interval_Seconds":60},"sync":{"CURSOR":1}}' },
  {
    name: 'Object property names as keys',
    metadata: '{"toString":1,"valueOf":2,"hasOwnProperty":3,"sync":{"toString":4}}',
  },
  { name: 'empty keys', metadata: '{"":{"":{}},"sync":{"":1}}' },
  {
    name: '10,000 keys',
    metadata: JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, i]))),
  },
  {
    name: '1 MB of another writer',
    metadata: JSON.stringify({ theirs: 'x'.repeat(1_000_000), sync: { theirs: 1 } }),
  },
  {
    name: 'keys with terminal escapes',
    metadata: JSON.stringify({ '\u001b[31m': '\u202e', sync: { '\u0007': 1 } }),
  },
  { name: 'a value of another writer nested 9,000 levels', metadata: `{"theirs":${nestedText(9000)}}` },
];

/** A job row of another writer and the expected response of the API. */
export interface JobRowCase {
  name: string;
  columns: Record<string, unknown>;
  response: Record<string, unknown>;
}

const errored = (name: string, error: unknown, shown: Record<string, unknown>): JobRowCase => ({
  name: `an error that is ${name}`,
  columns: { status: 'failed', error: JSON.stringify(error), finished_at: '2025-01-01T00:00:00Z' },
  response: { error: shown },
});
const defaults = { name: 'Error', at: '' };

export const jobRowCases: readonly JobRowCase[] = [
  errored('a number', 42, { ...defaults, kind: 'unknown', message: '42' }),
  errored('a string', 'no luck', { ...defaults, kind: 'unknown', message: '"no luck"' }),
  errored('a list', [1], { ...defaults, kind: 'unknown', message: '[1]' }),
  errored(
    'of kind __proto__',
    { kind: '__proto__', message: 'm' },
    { ...defaults, kind: '__proto__', message: 'm' },
  ),
  errored(
    'of kind constructor',
    { kind: 'constructor', message: 'm' },
    { ...defaults, kind: 'constructor', message: 'm' },
  ),
  errored(
    'without any string',
    { kind: {}, name: [], message: null, at: 7 },
    { ...defaults, kind: 'unknown', message: '{"at":7,"kind":{},"name":[],"message":null}' },
  ),
  {
    name: 'scheduled in the year 290000',
    columns: { scheduled_at: '290000-01-01T00:00:00Z' },
    response: { scheduled_at: '+275760-09-13T00:00:00.000Z' },
  },
  {
    name: 'scheduled in 4000 BC',
    columns: { scheduled_at: '4000-01-01 00:00:00+00 BC' },
    response: { status: 'queued' },
  },
  {
    name: 'in backoff until the year 290000',
    columns: { attempts: 3, retry_after: '290000-01-01T00:00:00Z' },
    response: { retry_after: '+275760-09-13T00:00:00.000Z' },
  },
  {
    name: 'in backoff until infinity',
    columns: { retry_after: 'infinity' },
    response: { retry_after: '+275760-09-13T00:00:00.000Z' },
  },
  {
    name: 'started at infinity and ended at -infinity',
    columns: { status: 'succeeded', started_at: 'infinity', finished_at: '-infinity' },
    response: { duration_ms: 0 },
  },
  {
    name: 'the maximum number of failures',
    columns: { attempts: 2_147_483_647, priority: -32_768 },
    response: { attempts: 2_147_483_647 },
  },
  {
    name: 'a cursor nested 9,000 levels',
    columns: { cursor: nestedText(9000) },
    response: { status: 'queued' },
  },
  {
    name: 'a cursor with __proto__',
    columns: { cursor: '{"__proto__":{"polluted":true}}' },
    response: { cursor: JSON.parse('{"__proto__":{"polluted":true}}') },
  },
];
