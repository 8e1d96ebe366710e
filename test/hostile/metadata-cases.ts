import { nestedText } from './odd-values.ts';

/** What somebody else wrote into `connections.metadata`, as JSON text, and what is made of it. */
export interface MetadataCase {
  name: string;
  metadata: string;
  /** The interval in force. */
  interval?: number;
  /** The fields that are wrong, and count as absent. */
  invalid?: readonly string[];
  /** What the connector is told to go on from. */
  cursor?: unknown;
}

const sync = (fields: string) => `{"sync":{${fields}}}`;
const wrongTime = (name: string, text: string): MetadataCase => ({
  name: `next_run_at ${name}`,
  metadata: JSON.stringify({ sync: { next_run_at: text } }),
  invalid: ['next_run_at'],
});
const rightTime = (name: string, text: string): MetadataCase => ({
  name: `next_run_at ${name}`,
  metadata: JSON.stringify({ sync: { next_run_at: text } }),
});
const interval = (name: string, json: string, seconds?: number): MetadataCase => ({
  name: `an interval of ${name}`,
  metadata: sync(`"interval_seconds":${json}`),
  ...(seconds === undefined ? { invalid: ['interval_seconds'] } : { interval: seconds }),
});
const jitter = (name: string, json: string, isRight = false): MetadataCase => ({
  name: `a jitter of ${name}`,
  metadata: sync(`"last_jitter_seconds":${json}`),
  ...(!isRight && { invalid: ['last_jitter_seconds'] }),
});
const cursor = (name: string, json: string, told: unknown = JSON.parse(json) ?? undefined): MetadataCase => ({
  name: `a cursor that is ${name}`,
  metadata: sync(`"cursor":${json}`),
  cursor: told,
});

export const metadataCases: readonly MetadataCase[] = [
  wrongTime('in year 275760', '+275760-09-13T00:00:00.000Z'),
  wrongTime('in year -271821', '-271821-04-20T00:00:00.000Z'),
  wrongTime('in year 0', '0000-01-01T00:00:00Z'),
  wrongTime('of the leap second', '2016-12-31T23:59:60Z'),
  wrongTime('at 24 o’clock', '2025-01-01T24:00:00Z'),
  wrongTime('on February 29th of no leap year', '1900-02-29T00:00:00Z'),
  wrongTime('in small letters', '2025-01-01t00:00:00z'),
  wrongTime('in other digits', '２０２５-01-01T00:00:00Z'),
  wrongTime('with a line behind it', '2025-01-01T00:00:00Z\n'),
  wrongTime('with a blank before it', ' 2025-01-01T00:00:00Z'),
  wrongTime('with a mark of its byte order', '\ufeff2025-01-01T00:00:00Z'),
  wrongTime('with a mark that turns writing round', '\u202e2025-01-01T00:00:00Z'),
  wrongTime('with ten digits of a second', '2025-01-01T00:00:00.0000000001Z'),
  wrongTime('in an offset of sixteen hours', '2025-01-01T00:00:00+16:00'),
  wrongTime('that wants to be a function of Postgres', 'now'),
  wrongTime('that wants to be SQL', `2025-01-01T00:00:00Z'; DROP TABLE connections; --`),
  wrongTime('in the week form', '2025-W01-1T00:00:00Z'),
  rightTime('in year 1', '0001-01-01T00:00:00Z'),
  rightTime('with nine digits of a second', '2025-01-01T00:00:00.123456789Z'),
  rightTime('in an offset of nearly sixteen hours', '2025-01-01T00:00:00-15:59'),
  rightTime('on February 29th', '2000-02-29T00:00:00Z'),
  interval('60.0, which is 60', '60.0', 60),
  interval('6e1, which is 60', '6e1', 60),
  interval('as much as is allowed', '86400', 86_400),
  interval('-0', '-0'),
  interval('2^63', '9223372036854775808'),
  interval('1e308', '1e308'),
  interval('1e-400', '1e-400'),
  interval('60 and a little', '60.00000001'),
  interval('"60"', '"60"'),
  interval('an object that every object is', '{"__proto__":60}'),
  interval('a list nested 9,000 levels', nestedText(9000)),
  {
    name: 'an interval given twice: the last one counts',
    metadata: sync('"interval_seconds":-5,"interval_seconds":120'),
    interval: 120,
  },
  jitter('-0', '-0', true),
  jitter('2^53', '9007199254740992', true),
  jitter('half a second', '0.5'),
  jitter('NaN', '"NaN"'),
  cursor('a prototype', '{"__proto__":{"polluted":true}}'),
  cursor('a constructor', '{"constructor":{"prototype":{"polluted":true}}}'),
  cursor('SQL', JSON.stringify(`'; DROP TABLE signals; --`)),
  cursor('false', 'false'),
  cursor('0', '0'),
  cursor('an empty text', '""'),
  cursor('null, which is none', 'null'),
  cursor('a number beyond a double', '1e400', Number.POSITIVE_INFINITY),
  cursor('a list nested 500 levels', nestedText(500)),
  cursor('200 KB of text', JSON.stringify('x'.repeat(200_000))),
  { name: 'a sync in a prototype', metadata: '{"__proto__":{"sync":{"interval_seconds":60,"cursor":1}}}' },
  {
    name: 'fields in the prototype of sync',
    metadata: sync('"__proto__":{"interval_seconds":60,"cursor":1}'),
  },
  { name: 'names in another case', metadata: '{"Sync":{"Interval_Seconds":60},"sync":{"CURSOR":1}}' },
  {
    name: 'the names that every object has',
    metadata: '{"toString":1,"valueOf":2,"hasOwnProperty":3,"sync":{"toString":4}}',
  },
  { name: 'a name that is empty', metadata: '{"":{"":{}},"sync":{"":1}}' },
  {
    name: 'ten thousand names',
    metadata: JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, i]))),
  },
  {
    name: 'a megabyte of somebody else’s',
    metadata: JSON.stringify({ theirs: 'x'.repeat(1_000_000), sync: { theirs: 1 } }),
  },
  {
    name: 'names that do things to a terminal',
    metadata: JSON.stringify({ '\u001b[31m': '\u202e', sync: { '\u0007': 1 } }),
  },
  { name: 'somebody else’s nested 9,000 levels', metadata: `{"theirs":${nestedText(9000)}}` },
];

/** What other workers may have written about a job, and what the API has to tell of it. */
export interface JobRowCase {
  name: string;
  columns: Record<string, unknown>;
  told: Record<string, unknown>;
}

const errored = (name: string, error: unknown, told: Record<string, unknown>): JobRowCase => ({
  name: `an error that is ${name}`,
  columns: { status: 'failed', error: JSON.stringify(error), finished_at: '2025-01-01T00:00:00Z' },
  told: { error: told },
});
const plain = { name: 'Error', at: '' };

export const jobRowCases: readonly JobRowCase[] = [
  errored('a number', 42, { ...plain, kind: 'unknown', message: '42' }),
  errored('text', 'no luck', { ...plain, kind: 'unknown', message: '"no luck"' }),
  errored('a list', [1], { ...plain, kind: 'unknown', message: '[1]' }),
  errored(
    'of the kind of a prototype',
    { kind: '__proto__', message: 'm' },
    { ...plain, kind: '__proto__', message: 'm' },
  ),
  errored(
    'of the kind of a constructor',
    { kind: 'constructor', message: 'm' },
    { ...plain, kind: 'constructor', message: 'm' },
  ),
  errored(
    'without any text',
    { kind: {}, name: [], message: null, at: 7 },
    { ...plain, kind: 'unknown', message: '{"at":7,"kind":{},"name":[],"message":null}' },
  ),
  {
    name: 'scheduled in year 290000',
    columns: { scheduled_at: '290000-01-01T00:00:00Z' },
    told: { scheduled_at: '+275760-09-13T00:00:00.000Z' },
  },
  {
    name: 'scheduled before Christ',
    columns: { scheduled_at: '4000-01-01 00:00:00+00 BC' },
    told: { status: 'queued' },
  },
  {
    name: 'put off until year 290000',
    columns: { attempts: 3, retry_after: '290000-01-01T00:00:00Z' },
    told: { retry_after: '+275760-09-13T00:00:00.000Z' },
  },
  {
    name: 'put off for ever',
    columns: { retry_after: 'infinity' },
    told: { retry_after: '+275760-09-13T00:00:00.000Z' },
  },
  {
    name: 'begun at the end of time and ended at its beginning',
    columns: { status: 'succeeded', started_at: 'infinity', finished_at: '-infinity' },
    told: { duration_ms: 0 },
  },
  {
    name: 'as many failures as there can be',
    columns: { attempts: 2_147_483_647, priority: -32_768 },
    told: { attempts: 2_147_483_647 },
  },
  { name: 'a cursor nested 9,000 levels', columns: { cursor: nestedText(9000) }, told: { status: 'queued' } },
  {
    name: 'a cursor that is a prototype',
    columns: { cursor: '{"__proto__":{"polluted":true}}' },
    told: { cursor: JSON.parse('{"__proto__":{"polluted":true}}') },
  },
];
