import type { SyncContext } from '../../src/index.ts';
import { connector, signal } from '../support/connector.ts';
import { nested, polluting, revoked, thenable, trap } from './odd-values.ts';

export interface ResultCase {
  name: string;
  sync: (context: SyncContext) => unknown;
  /** Expected on success; without it, the job is retried with `error`. */
  stored?: { payloads: readonly unknown[]; cursor?: unknown };
  error?: RegExp;
  /** `failed` for errors that are not retried. */
  status?: 'queued' | 'failed';
}

const page = (...signals: unknown[]) => ({ signals, nextCursor: 'next' });
const stored = (...payloads: unknown[]) => ({ stored: { payloads, cursor: 'next' } });
const invalidResult = (name: string, result: () => unknown, error: RegExp): ResultCase => ({
  name,
  sync: result,
  error,
});
const thrown = (name: string, make: () => unknown, error: RegExp): ResultCase => ({
  name: `throws ${name}`,
  sync: () => {
    throw make();
  },
  error,
});
const kind = Symbol.for('syncline.connector-error');
const ofKind = (value: unknown, fields: object = {}) =>
  Object.assign(new Error('of a kind'), { [kind]: value }, fields);
/** A list whose length grows with each read. */
const growing = () => {
  let length = 1;
  return new Proxy([signal(1)], {
    get: (list, name) => (name === 'length' ? length++ : Reflect.get(list, 0)),
  });
};

export const resultCases: readonly ResultCase[] = [
  invalidResult('a result that is a revoked proxy', revoked, /revoked/),
  invalidResult(
    'a result whose signals throw',
    () => Object.defineProperty({}, 'signals', { get: trap }),
    /trap/,
  ),
  invalidResult('a result whose every field throws', () => new Proxy({}, { get: trap }), /trap/),
  invalidResult('a result whose then throws', () => Object.defineProperty({}, 'then', { get: trap }), /trap/),
  invalidResult(
    'a thenable result that rejects',
    () => thenable((_, failed) => failed('later')),
    /The connector threw later/,
  ),
  invalidResult(
    'an iterator as signals',
    () => ({ signals: [signal(1)].values() }),
    /signals must be an array, got an object/,
  ),
  invalidResult(
    'an async iterator as signals',
    () => ({
      signals: (async function* () {
        yield signal(1);
      })(),
    }),
    /signals must be an array, got an object/,
  ),
  invalidResult(
    'a Set as signals',
    () => ({ signals: new Set([signal(1)]) }),
    /signals must be an array, got an object/,
  ),
  invalidResult(
    'a promise as signals',
    () => ({ signals: Promise.resolve([]) }),
    /signals must be an array, got an object/,
  ),
  invalidResult('a sparse list', () => ({ signals: Array(3) }), /signals\[0\] must be .*, got undefined/),
  invalidResult(
    '1,000,000 signals',
    () => ({ signals: Array(1_000_000).fill(signal(1)) }),
    /signals has 1000000 signals; at most 100000/,
  ),
  invalidResult(
    'a list whose length is NaN',
    () => ({
      signals: new Proxy([], {
        get: (list, name) => (name === 'length' ? Number.NaN : Reflect.get(list, name)),
      }),
    }),
    /signals has NaN signals/,
  ),
  invalidResult(
    'a list that is shorter than its length',
    () => ({
      signals: new Proxy([], { get: (list, name) => (name === 'length' ? 2 : Reflect.get(list, name)) }),
    }),
    /signals\[0\] must be .*, got undefined/,
  ),
  invalidResult('a signal that is a revoked proxy', () => page(revoked()), /revoked/),
  invalidResult('a signal that is a list', () => page([1]), /signals\[0\] must be .*, got an array/),
  invalidResult(
    'a kind that is a String object',
    () => page({ ...signal(1), kind: new String('kind') }),
    /kind must be .*, got an object/,
  ),
  invalidResult(
    'a kind that is a symbol',
    () => page({ ...signal(1), kind: Symbol('kind') }),
    /kind must be .*, got Symbol\(kind\)/,
  ),
  invalidResult(
    'a time that is a number',
    () => page({ ...signal(1), occurredAt: 1_735_689_600_000 }),
    /occurredAt must be .*, got 1735689600000/,
  ),
  invalidResult(
    'a time in the year 275760',
    () => page({ ...signal(1), occurredAt: '+275760-09-13T00:00:00Z' }),
    /occurredAt must be .*, got "\+275760/,
  ),
  invalidResult(
    'a time in the year -271821',
    () => page({ ...signal(1), occurredAt: new Date(-8.64e15) }),
    /occurredAt must be .*, got an invalid Date/,
  ),
  invalidResult(
    'a time that only inherits from Date.prototype',
    () => page({ ...signal(1), occurredAt: Object.create(Date.prototype) }),
    /occurredAt must be .*, got an invalid Date/,
  ),
  invalidResult(
    'a time without an offset',
    () => page({ ...signal(1), occurredAt: '2025-01-01T10:00:00' }),
    /occurredAt must be .*, got "2025-01-01T10:00:00"/,
  ),
  invalidResult(
    'a time on February 30',
    () => page({ ...signal(1), occurredAt: '2025-02-30T10:00:00Z' }),
    /occurredAt must be .*, got "2025-02-30T10:00:00Z"/,
  ),
  invalidResult(
    'a time with text on a second line',
    () => page({ ...signal(1), occurredAt: '2025-01-01T10:00:00Z\n2' }),
    /occurredAt must be .*, got "2025/,
  ),
  invalidResult(
    'a payload that is a symbol',
    () => page(signal(Symbol('odd'))),
    /payload must be .*, got Symbol\(odd\)/,
  ),
  invalidResult(
    'a payload that is a function',
    () => page(signal(() => 1)),
    /payload must be .*, got a function/,
  ),
  invalidResult(
    'a payload whose toJSON returns undefined',
    () => page(signal({ toJSON: () => undefined })),
    /payload must be something that can be written.*, got an object/,
  ),
  invalidResult(
    'a payload whose toJSON throws an object without a prototype',
    () =>
      page(
        signal({
          toJSON: () => {
            throw Object.create(null);
          },
        }),
      ),
    /payload cannot be written as JSON/,
  ),
  invalidResult(
    'a payload nested 501 levels',
    () => page(signal(nested(501))),
    /signals\[0\]\.payload is nested deeper than 500 levels/,
  ),
  invalidResult(
    'a cursor nested 501 levels',
    () => ({ signals: [], nextCursor: nested(501) }),
    /nextCursor is nested deeper than 500 levels/,
  ),
  invalidResult('a payload nested 100,000 levels', () => page(signal(nested(100_000))), /payload/),
  invalidResult(
    'a cursor nested 100,000 levels',
    () => ({ signals: [], nextCursor: nested(100_000) }),
    /nextCursor/,
  ),
  invalidResult(
    'a cursor that is a revoked proxy',
    () => ({ signals: [], nextCursor: revoked() }),
    /revoked/,
  ),
  invalidResult(
    'a cursor with a lone surrogate',
    () => ({ signals: [], nextCursor: { at: '\ud800' } }),
    /nextCursor contains a NUL character or a lone/,
  ),
  invalidResult(
    'a cursor that is a symbol',
    () => ({ signals: [], nextCursor: Symbol('odd') }),
    /nextCursor must be .*, got Symbol\(odd\)/,
  ),
  invalidResult(
    'hasMore that is text',
    () => ({ signals: [], hasMore: 'false' }),
    /hasMore must be true or false, got "false"/,
  ),
  invalidResult('hasMore that is 1', () => ({ signals: [], hasMore: 1 }), /hasMore must be .*, got 1/),
  ...(
    [
      ['a BigInt', 60n, '60'],
      ['NaN', Number.NaN, 'NaN'],
      ['negative', -1, '-1'],
      ['a Date', new Date(0), 'an invalid Date'],
      ['a list', [60], 'an array'],
    ] as const
  ).map(([what, retryAfterSeconds, shown]) =>
    invalidResult(
      `retryAfterSeconds that is ${what}`,
      () => ({ ...page(signal(1)), hasMore: true, retryAfterSeconds }),
      new RegExp(`^retryAfterSeconds must be a number of seconds, 0 or more, or text, got ${shown}\\.$`),
    ),
  ),
  invalidResult(
    'retryAfterSeconds that throws',
    () => Object.defineProperty(page(signal(1)), 'retryAfterSeconds', { get: trap }),
    /trap/,
  ),
  invalidResult(
    'a misspelled key',
    () => ({ ...page(signal(1)), hasmore: true }),
    /^the result has the unknown key "hasmore"\. Did you mean hasMore\?$/,
  ),
  invalidResult(
    'items instead of signals',
    () => ({ items: [] }),
    /^the result has the unknown key "items"\. Known: signals, nextCursor, hasMore, retryAfterSeconds\.$/,
  ),
  invalidResult(
    'a misspelled key of a signal',
    () => page(signal(1), { ...signal(2), dedupekey: 'a' }),
    /^signals\[1\] has the unknown key "dedupekey"\. Did you mean dedupeKey\?$/,
  ),
  invalidResult(
    'an unknown key of 1 MB',
    () => ({ ...page(), ['x'.repeat(1_000_000)]: 1 }),
    /^the result has the unknown key "x{80}"\. Known: /,
  ),
  thrown('a revoked proxy', revoked, /cannot be read/),
  thrown('a function', () => trap, /The connector threw /),
  thrown('a BigInt', () => 7n, /The connector threw 7/),
  thrown(
    'an error whose name throws',
    () => Object.defineProperty(new Error('x'), 'name', { get: trap }),
    /cannot be read/,
  ),
  thrown(
    'an error whose message is an object',
    () => Object.assign(new Error('x'), { message: { a: 1 } }),
    /\[object Object\]/,
  ),
  thrown('an unknown kind', () => ofKind('nonsense'), /of a kind/),
  thrown('a kind that is a BigInt', () => ofKind(7n), /of a kind/),
  thrown('a kind that is an object', () => ofKind({ toJSON: trap }), /of a kind/),
  thrown('a kind with NUL', () => ofKind('a\0b'), /of a kind/),
  thrown('a kind of 1 MB', () => ofKind('x'.repeat(1_000_000)), /of a kind/),
  thrown(
    'a rate limit of infinite length',
    () => ofKind('rate_limited', { retryAfterSeconds: Number.POSITIVE_INFINITY }),
    /of a kind/,
  ),
  thrown(
    'a rate limit of 1e308 seconds',
    () => ofKind('rate_limited', { retryAfterSeconds: 1e308 }),
    /of a kind/,
  ),
  thrown(
    'a rate limit of -1e308 seconds',
    () => ofKind('rate_limited', { retryAfterSeconds: -1e308 }),
    /of a kind/,
  ),
  thrown(
    'a rate limit of NaN seconds',
    () => ofKind('rate_limited', { retryAfterSeconds: Number.NaN }),
    /of a kind/,
  ),
  thrown(
    'a rate limit that is a BigInt',
    () => ofKind('rate_limited', { retryAfterSeconds: 10n }),
    /of a kind/,
  ),
  {
    ...thrown(
      'a plain object of a known kind',
      () => ({ [kind]: 'permanent', message: 'plain' }),
      /The connector threw \{"message":"plain"\}/,
    ),
    status: 'failed',
  },
  {
    name: 'a result that is a class instance',
    sync: () =>
      new (class {
        signals = [signal('of a class')];
        nextCursor = 'next';
      })(),
    ...stored('of a class'),
  },
  ...[0, 5e-324, 1e308, Number.POSITIVE_INFINITY, 'soon', '', '-1'].map((retryAfterSeconds) => ({
    name: `retryAfterSeconds that is ${JSON.stringify(retryAfterSeconds)}, without hasMore`,
    sync: () => ({ ...page(signal(retryAfterSeconds)), retryAfterSeconds }),
    ...stored(retryAfterSeconds === Number.POSITIVE_INFINITY ? null : retryAfterSeconds),
  })),
  {
    name: 'a result that is frozen',
    sync: () => Object.freeze(page(Object.freeze(signal('frozen')))),
    ...stored('frozen'),
  },
  {
    name: 'a payload with toJSON',
    sync: () => page(signal({ toJSON: () => 'a lie' })),
    ...stored('a lie'),
  },
  {
    name: 'a payload with unusual numbers',
    sync: () => page(signal([Number.NaN, Number.POSITIVE_INFINITY, -0, 2 ** 53, 5e-324])),
    ...stored([null, null, 0, 2 ** 53, 5e-324]),
  },
  {
    name: 'a payload with Object property names',
    sync: () => page(signal(polluting())),
    ...stored(polluting()),
  },
  { name: 'a payload nested 500 levels', sync: () => page(signal(nested(500))), ...stored(nested(500)) },
  {
    name: 'a payload with SQL',
    sync: () => page(signal(`'; DROP TABLE signals; --`)),
    ...stored(`'; DROP TABLE signals; --`),
  },
  {
    name: 'dedupe keys with SQL and array syntax',
    sync: () => page(signal('a', `{",\\',NULL}`), signal('b', 'NULL'), signal('c', '\\')),
    ...stored('a', 'b', 'c'),
  },
  {
    name: 'a kind with SQL',
    sync: () => page({ ...signal('k'), kind: `'; DROP TABLE signals; --` }),
    ...stored('k'),
  },
  {
    name: 'a list that grows while it is read',
    sync: () => ({ signals: growing(), nextCursor: 'next' }),
    ...stored(1),
  },
  {
    name: 'signals that are added while the cursor is read',
    sync: () => {
      const signals = [signal('in time')];
      return { signals, nextCursor: { toJSON: () => signals.push(signal('late')) && 'next' } };
    },
    ...stored('in time'),
  },
  {
    name: 'a getter that appends to its own list',
    sync: () => {
      const signals: unknown[] = [];
      signals.push({
        ...signal('first'),
        get kind() {
          signals.push(signal('more'));
          return 'kind';
        },
      });
      return { signals, nextCursor: 'next' };
    },
    ...stored('first'),
  },
  {
    name: 'changes to the passed metadata have no effect',
    sync: ({ connection, job }) => {
      Object.assign(connection.metadata, { sync: { cursor: 'forged', interval_seconds: 1 } });
      job.scheduledAt.setTime(Number.NaN);
      return page(signal('changed'));
    },
    ...stored('changed'),
  },
  {
    name: 'log calls with values that cannot be serialized',
    sync: ({ log }) => {
      const loop: Record<string, unknown> = { n: 1n, level: 999, time: 'never', msg: {}, pid: '\0' };
      loop['self'] = loop;
      log.warn(loop, 'a\0b\ud800');
      log.error(polluting(), '%s %d %j');
      return page(signal('logged'));
    },
    ...stored('logged'),
  },
  {
    name: 'a promise that rejects after the run',
    sync: () => {
      setImmediate(() => void Promise.reject(new Error('after the end')).catch(() => {}));
      return page(signal('ended'));
    },
    ...stored('ended'),
  },
];

/** A connector that runs the case named by the external ID. */
export const connectorOf = (cases: ReadonlyMap<string, ResultCase['sync']>) =>
  connector((context) => cases.get(context.connection.externalId ?? '')?.(context));
