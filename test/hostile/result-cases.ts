import type { SyncContext } from '../../src/index.ts';
import { connector, signal } from '../support/connector.ts';
import { nested, polluting, revoked, thenable, trap } from './odd-values.ts';

/** What a connector may do or return, and what becomes of its job. */
export interface ResultCase {
  name: string;
  sync: (context: SyncContext) => unknown;
  /** What is stored; a case without it is tried again, and `because` is the error. */
  stored?: { payloads: readonly unknown[]; cursor?: unknown };
  because?: RegExp;
  /** `failed` where trying again would not help. */
  status?: 'queued' | 'failed';
}

const page = (...signals: unknown[]) => ({ signals, nextCursor: 'next' });
const stored = (...payloads: unknown[]) => ({ stored: { payloads, cursor: 'next' } });
const unusable = (name: string, result: () => unknown, because: RegExp): ResultCase => ({
  name,
  sync: result,
  because,
});
const thrown = (name: string, what: () => unknown, because: RegExp): ResultCase => ({
  name: `throws ${name}`,
  sync: () => {
    throw what();
  },
  because,
});
const kind = Symbol.for('syncline.connector-error');
const ofKind = (value: unknown, fields: object = {}) =>
  Object.assign(new Error('of a kind'), { [kind]: value }, fields);
/** A list that says it is longer each time it is asked. */
const growing = () => {
  let length = 1;
  return new Proxy([signal(1)], {
    get: (list, name) => (name === 'length' ? length++ : Reflect.get(list, 0)),
  });
};

export const resultCases: readonly ResultCase[] = [
  unusable('a result that is revoked', revoked, /revoked/),
  unusable('a result whose signals throw', () => Object.defineProperty({}, 'signals', { get: trap }), /trap/),
  unusable('a result whose every field throws', () => new Proxy({}, { get: trap }), /trap/),
  unusable('a result with then that throws', () => Object.defineProperty({}, 'then', { get: trap }), /trap/),
  unusable(
    'a result with then that rejects',
    () => thenable((_, failed) => failed('later')),
    /The connector threw later/,
  ),
  unusable(
    'an iterator in place of signals',
    () => ({ signals: [signal(1)].values() }),
    /signals is an object; it must be an array/,
  ),
  unusable(
    'an async iterator in place of signals',
    () => ({
      signals: (async function* () {
        yield signal(1);
      })(),
    }),
    /signals is an object; it must be an array/,
  ),
  unusable(
    'a Set in place of signals',
    () => ({ signals: new Set([signal(1)]) }),
    /signals is an object; it must be an array/,
  ),
  unusable(
    'a promise in place of signals',
    () => ({ signals: Promise.resolve([]) }),
    /signals is an object; it must be an array/,
  ),
  unusable('a list with holes', () => ({ signals: Array(3) }), /signals\[0\] is undefined/),
  unusable(
    'a million signals',
    () => ({ signals: Array(1_000_000).fill(signal(1)) }),
    /signals has 1000000 signals; at most 100000/,
  ),
  unusable(
    'a list whose length is NaN',
    () => ({
      signals: new Proxy([], {
        get: (list, name) => (name === 'length' ? Number.NaN : Reflect.get(list, name)),
      }),
    }),
    /signals has NaN signals/,
  ),
  unusable(
    'a list that is longer than it says',
    () => ({
      signals: new Proxy([], { get: (list, name) => (name === 'length' ? 2 : Reflect.get(list, name)) }),
    }),
    /signals\[0\] is undefined/,
  ),
  unusable('a signal that is revoked', () => page(revoked()), /revoked/),
  unusable('a signal that is a list', () => page([1]), /signals\[0\] is an array/),
  unusable(
    'a kind that is a String object',
    () => page({ ...signal(1), kind: new String('kind') }),
    /kind is an object/,
  ),
  unusable(
    'a kind that is a symbol',
    () => page({ ...signal(1), kind: Symbol('kind') }),
    /kind is Symbol\(kind\)/,
  ),
  unusable(
    'a time that is a number',
    () => page({ ...signal(1), occurredAt: 1_735_689_600_000 }),
    /occurredAt is 1735689600000/,
  ),
  unusable(
    'a time of year 275760',
    () => page({ ...signal(1), occurredAt: '+275760-09-13T00:00:00Z' }),
    /occurredAt is "\+275760/,
  ),
  unusable(
    'a time of year -271821',
    () => page({ ...signal(1), occurredAt: new Date(-8.64e15) }),
    /occurredAt is an invalid Date/,
  ),
  unusable(
    'a time that only looks like a Date',
    () => page({ ...signal(1), occurredAt: Object.create(Date.prototype) }),
    /occurredAt is an invalid Date/,
  ),
  unusable(
    'a time without an offset',
    () => page({ ...signal(1), occurredAt: '2025-01-01T10:00:00' }),
    /occurredAt is "2025-01-01T10:00:00"/,
  ),
  unusable(
    'a day that no calendar has',
    () => page({ ...signal(1), occurredAt: '2025-02-30T10:00:00Z' }),
    /occurredAt is "2025-02-30T10:00:00Z"/,
  ),
  unusable(
    'a time with a line behind it',
    () => page({ ...signal(1), occurredAt: '2025-01-01T10:00:00Z\n2' }),
    /occurredAt is "2025/,
  ),
  unusable('a payload that is a symbol', () => page(signal(Symbol('odd'))), /payload is Symbol\(odd\)/),
  unusable('a payload that is a function', () => page(signal(() => 1)), /payload is a function/),
  unusable(
    'a payload whose toJSON gives nothing',
    () => page(signal({ toJSON: () => undefined })),
    /payload is an object; it must be something that can be written/,
  ),
  unusable(
    'a payload whose toJSON throws what cannot be read',
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
  unusable(
    'a payload nested 501 levels',
    () => page(signal(nested(501))),
    /signals\[0\]\.payload is nested deeper than 500 levels/,
  ),
  unusable(
    'a cursor nested 501 levels',
    () => ({ signals: [], nextCursor: nested(501) }),
    /nextCursor is nested deeper than 500 levels/,
  ),
  unusable('a payload nested 100,000 levels', () => page(signal(nested(100_000))), /payload/),
  unusable(
    'a cursor nested 100,000 levels',
    () => ({ signals: [], nextCursor: nested(100_000) }),
    /nextCursor/,
  ),
  unusable('a cursor that is revoked', () => ({ signals: [], nextCursor: revoked() }), /revoked/),
  unusable(
    'a cursor of half a surrogate pair',
    () => ({ signals: [], nextCursor: { at: '\ud800' } }),
    /nextCursor holds NUL or half/,
  ),
  unusable(
    'a cursor that is a symbol',
    () => ({ signals: [], nextCursor: Symbol('odd') }),
    /nextCursor is Symbol\(odd\)/,
  ),
  unusable(
    'hasMore that is text',
    () => ({ signals: [], hasMore: 'false' }),
    /hasMore is "false"; it must be true or false/,
  ),
  unusable('hasMore that is 1', () => ({ signals: [], hasMore: 1 }), /hasMore is 1/),
  ...(
    [
      ['text', 'soon', '"soon"'],
      ['empty text', '', '""'],
      ['a BigInt', 60n, '60'],
      ['NaN', Number.NaN, 'NaN'],
      ['negative', -1, '-1'],
      ['a Date', new Date(0), 'an invalid Date'],
      ['a list', [60], 'an array'],
    ] as const
  ).map(([what, retryAfterSeconds, shown]) =>
    unusable(
      `retryAfterSeconds that is ${what}`,
      () => ({ ...page(signal(1)), hasMore: true, retryAfterSeconds }),
      new RegExp(
        `^retryAfterSeconds is ${shown}; it must be a number of seconds, 0 or more, or an HTTP date\\.$`,
      ),
    ),
  ),
  unusable(
    'retryAfterSeconds that throws',
    () => Object.defineProperty(page(signal(1)), 'retryAfterSeconds', { get: trap }),
    /trap/,
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
  thrown('a kind that nobody knows', () => ofKind('nonsense'), /of a kind/),
  thrown('a kind that is a BigInt', () => ofKind(7n), /of a kind/),
  thrown('a kind that is an object', () => ofKind({ toJSON: trap }), /of a kind/),
  thrown('a kind with NUL', () => ofKind('a\0b'), /of a kind/),
  thrown('a kind that is a megabyte', () => ofKind('x'.repeat(1_000_000)), /of a kind/),
  thrown(
    'a limit that lasts for ever',
    () => ofKind('rate_limited', { retryAfterSeconds: Number.POSITIVE_INFINITY }),
    /of a kind/,
  ),
  thrown(
    'a limit that lasts 1e308 seconds',
    () => ofKind('rate_limited', { retryAfterSeconds: 1e308 }),
    /of a kind/,
  ),
  thrown(
    'a limit that is over since ever',
    () => ofKind('rate_limited', { retryAfterSeconds: -1e308 }),
    /of a kind/,
  ),
  thrown('a limit that is NaN', () => ofKind('rate_limited', { retryAfterSeconds: Number.NaN }), /of a kind/),
  thrown('a limit that is a BigInt', () => ofKind('rate_limited', { retryAfterSeconds: 10n }), /of a kind/),
  {
    ...thrown(
      'a kind that is known, without a class',
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
  ...[0, 5e-324, 1e308, Number.POSITIVE_INFINITY].map((retryAfterSeconds) => ({
    name: `retryAfterSeconds that is ${retryAfterSeconds}, without more to come`,
    sync: () => ({ ...page(signal(retryAfterSeconds)), retryAfterSeconds }),
    ...stored(Number.isFinite(retryAfterSeconds) ? retryAfterSeconds : null),
  })),
  {
    name: 'a result that is frozen',
    sync: () => Object.freeze(page(Object.freeze(signal('frozen')))),
    ...stored('frozen'),
  },
  {
    name: 'a payload whose toJSON lies',
    sync: () => page(signal({ toJSON: () => 'a lie' })),
    ...stored('a lie'),
  },
  {
    name: 'a payload with every odd number',
    sync: () => page(signal([Number.NaN, Number.POSITIVE_INFINITY, -0, 2 ** 53, 5e-324])),
    ...stored([null, null, 0, 2 ** 53, 5e-324]),
  },
  {
    name: 'a payload with the names that every object has',
    sync: () => page(signal(polluting())),
    ...stored(polluting()),
  },
  { name: 'a payload nested 500 levels', sync: () => page(signal(nested(500))), ...stored(nested(500)) },
  {
    name: 'a payload that wants to be SQL',
    sync: () => page(signal(`'; DROP TABLE signals; --`)),
    ...stored(`'; DROP TABLE signals; --`),
  },
  {
    name: 'a key that wants to be SQL and an array',
    sync: () => page(signal('a', `{",\\',NULL}`), signal('b', 'NULL'), signal('c', '\\')),
    ...stored('a', 'b', 'c'),
  },
  {
    name: 'a kind that is SQL',
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
    name: 'a getter that adds to the list it is in',
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
    name: 'metadata that the connector changes is its own copy',
    sync: ({ connection, job }) => {
      Object.assign(connection.metadata, { sync: { cursor: 'forged', interval_seconds: 1 } });
      job.scheduledAt.setTime(Number.NaN);
      return page(signal('changed'));
    },
    ...stored('changed'),
  },
  {
    name: 'a log of everything that cannot be written',
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
    name: 'work that goes on and fails after the end',
    sync: () => {
      setImmediate(() => void Promise.reject(new Error('after the end')).catch(() => {}));
      return page(signal('ended'));
    },
    ...stored('ended'),
  },
];

/** A connector that is its author's case, by the name of the connection. */
export const connectorOf = (cases: ReadonlyMap<string, ResultCase['sync']>) =>
  connector((context) => cases.get(context.connection.externalId ?? '')?.(context));
