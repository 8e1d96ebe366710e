import { beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/platform/ports.ts';
import { connector, signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

/** Runs one poisoned connection and four others in one batch; returns the result of the poisoned one. */
async function runPoisoned(poison: () => unknown, options: { maxRunSeconds?: number } = {}) {
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.push(await connect());
  const poisoned = ids[2] as string;
  for (const id of ids) await job(id);
  const { log, lines } = recordingLogger('warn');
  const engine = database.engine({
    logger: log,
    executor: options,
    connectors: [
      connector(({ connection }) =>
        connection.id === poisoned ? poison() : { signals: [signal('fine')], nextCursor: 'fine' },
      ),
    ],
  });
  const totals = await engine.drain();
  const neighbours = await sql(
    `SELECT j.status, c.metadata #>> '{sync,cursor}' AS cursor, (SELECT count(*)::int FROM signals s WHERE s.connection_id = c.id) AS signals
     FROM connections c JOIN sync_jobs j ON j.connection_id = c.id WHERE c.id <> $1`,
    [poisoned],
  );
  expect(neighbours).toEqual(Array(4).fill({ status: 'succeeded', cursor: 'fine', signals: 1 }));
  const [own] = await sql<{
    status: string;
    attempts: number;
    error: { message: string } | null;
    cursor: unknown;
  }>(
    `SELECT j.status, j.attempts, j.error, c.metadata #> '{sync,cursor}' AS cursor
     FROM connections c JOIN sync_jobs j ON j.connection_id = c.id WHERE c.id = $1`,
    [poisoned],
  );
  const signals = await sql<{ kind: string; payload: unknown; dedupe_key: string | null }>(
    'SELECT kind, payload, dedupe_key FROM signals WHERE connection_id = $1 ORDER BY id',
    [poisoned],
  );
  return { totals, own, signals, warnings: lines.map(({ msg }) => msg) };
}

const loop: Record<string, unknown> = {};
loop['self'] = loop;
const page = (...signals: unknown[]) => ({ signals, nextCursor: 'next' });

describe('EXE-11: data that Postgres cannot store is replaced in that signal', () => {
  it('EXE-11: NUL and lone surrogates become U+FFFD in values, keys and kinds', async () => {
    const { own, signals, warnings } = await runPoisoned(() =>
      page({
        kind: 'odd\0kind',
        occurredAt: '2025-01-01T00:00:00Z',
        payload: { 'a\0b': ['x\0y', '\ud800', 'ok \u{1F600}', '\\u0000'], n: 1 },
        dedupeKey: 'k\0\udfff',
      }),
    );
    expect(own).toMatchObject({ status: 'succeeded', cursor: 'next' });
    expect(signals).toEqual([
      {
        kind: 'odd\uFFFDkind',
        payload: { 'a\uFFFDb': ['x\uFFFDy', '\uFFFD', 'ok \u{1F600}', '\\u0000'], n: 1 },
        dedupe_key: 'k\uFFFD\uFFFD',
      },
    ]);
    expect(warnings).toEqual([expect.stringMatching(/1 signals contained data that Postgres cannot store/)]);
  });

  it('EXE-11: text that looks like an escape sequence is not changed', async () => {
    const { signals, warnings } = await runPoisoned(() => page(signal({ text: String.raw`\u0000 \ud800` })));
    expect(signals).toEqual([expect.objectContaining({ payload: { text: String.raw`\u0000 \ud800` } })]);
    expect(warnings).toHaveLength(1);
  });

  it('EXE-11: a payload of 50 MB is replaced by its size, and the signals around it are stored', async () => {
    const { own, signals } = await runPoisoned(() =>
      page(signal('before'), signal({ text: 'x'.repeat(50 * 1024 * 1024) }, 'large'), signal('after')),
    );
    expect(own).toMatchObject({ status: 'succeeded', cursor: 'next' });
    expect(signals.map(({ payload, dedupe_key }) => [payload, dedupe_key])).toEqual([
      ['before', null],
      [{ $oversize: { bytes: 50 * 1024 * 1024 + 11, limit: 1024 * 1024 } }, 'large'],
      ['after', null],
    ]);
  });

  it('EXE-11: a dedupe key too long for the index is replaced by its hash', async () => {
    const { signals } = await runPoisoned(() =>
      page(signal(1, 'k'.repeat(5000)), signal(2, 'k'.repeat(5000))),
    );
    expect(signals).toEqual([
      expect.objectContaining({ payload: 1, dedupe_key: expect.stringMatching(/^sha256:/) }),
    ]);
  });

  it('EXE-11: a page of tens of thousands of signals is stored', async () => {
    const many = Array.from({ length: sized(100_000, 8000) }, (_, i) => signal(i));
    const { own, totals } = await runPoisoned(() => page(...many));
    expect(own).toMatchObject({ status: 'succeeded' });
    expect(totals.signals).toBe(many.length + 4);
  });
});

describe('EXE-8: an invalid result is an error with a readable message', () => {
  const wrong: [string, () => unknown, RegExp][] = [
    ['nothing', () => undefined, /the result must be .*, got undefined/],
    ['null', () => null, /the result must be .*, got null/],
    ['a number', () => 42, /the result must be .*, got 42/],
    ['an array', () => [], /the result must be .*, got an array/],
    ['no signals', () => ({ nextCursor: 1 }), /signals must be an array, got undefined/],
    [
      'signals that are a promise',
      () => ({ signals: Promise.resolve([]) }),
      /signals must be an array, got an object/,
    ],
    ['hasMore of "yes"', () => ({ signals: [], hasMore: 'yes' }), /hasMore must be true or false, got "yes"/],
    ['a signal that is null', () => page(null), /signals\[0\] must be .*, got null/],
    [
      'a kind that is missing',
      () => page(signal(1), { ...signal(1), kind: undefined }),
      /signals\[1\]\.kind must be .*, got undefined/,
    ],
    ['an empty kind', () => page({ ...signal(1), kind: '' }), /signals\[0\]\.kind must be .*, got ""/],
    [
      'a kind of a megabyte',
      () => page({ ...signal(1), kind: 'k'.repeat(1_000_000) }),
      /signals\[0\]\.kind must be .*, got "kkkk/,
    ],
    [
      '"yesterday"',
      () => page({ ...signal(1), occurredAt: 'yesterday' }),
      /signals\[0\]\.occurredAt must be a Date.*, got "yesterday"/,
    ],
    [
      'a time without an offset',
      () => page({ ...signal(1), occurredAt: '2025-01-01T12:00:00' }),
      /occurredAt must be .*, got "2025-01-01T12:00:00"/,
    ],
    [
      'a number for a time',
      () => page({ ...signal(1), occurredAt: 1735689600 }),
      /occurredAt must be .*, got 1735689600/,
    ],
    [
      'an invalid Date',
      () => page({ ...signal(1), occurredAt: new Date('no') }),
      /occurredAt must be .*, got an invalid Date/,
    ],
    [
      'the year 275760',
      () => page({ ...signal(1), occurredAt: new Date(8.64e15) }),
      /occurredAt must be .*, got an invalid Date/,
    ],
    [
      'no payload',
      () => page({ ...signal(1), payload: undefined }),
      /signals\[0\]\.payload must be .*, got undefined/,
    ],
    ['a payload with a BigInt', () => page(signal({ n: 1n })), /payload cannot be written as JSON: .*BigInt/],
    ['a circular payload', () => page(signal(loop)), /payload cannot be written as JSON: .*circular/],
    [
      'a payload that throws',
      () =>
        page(
          signal({
            toJSON: () => {
              throw new Error('no');
            },
          }),
        ),
      /payload cannot be written as JSON: no/,
    ],
    ['a key that is a number', () => page(signal(1, 7 as unknown as string)), /dedupeKey must be .*, got 7/],
    ['an empty key', () => page(signal(1, '')), /dedupeKey must be .*, got ""/],
    [
      'a circular cursor',
      () => ({ signals: [], nextCursor: loop }),
      /nextCursor cannot be written as JSON: .*circular/,
    ],
    [
      'a BigInt cursor',
      () => ({ signals: [], nextCursor: 1n }),
      /nextCursor cannot be written as JSON: .*BigInt/,
    ],
    [
      'a function for a cursor',
      () => ({ signals: [], nextCursor: () => 1 }),
      /nextCursor must be .*, got a function/,
    ],
    ['a cursor with NUL', () => ({ signals: [], nextCursor: 'a\0' }), /nextCursor contains a NUL/],
    [
      'a cursor of a megabyte',
      () => ({ signals: [], nextCursor: 'c'.repeat(1_000_000) }),
      /nextCursor has 1000002 bytes; at most/,
    ],
    [
      '100,001 signals',
      () => page(...Array(100_001).fill(signal(1))),
      /signals has 100001 signals; at most 100000 .* smaller pages/,
    ],
    [
      '40 MB in all',
      () => page(...Array(80).fill(signal('x'.repeat(500_000)))),
      /signals has \d+ bytes; at most/,
    ],
    [
      'a signal whose getter throws',
      () =>
        page({
          get kind() {
            throw new Error('trap');
          },
        }),
      /trap/,
    ],
  ];
  it.each(wrong)('EXE-8: rejects %s', async (_name, poison, message) => {
    const { totals, own, signals } = await runPoisoned(poison);
    expect(totals).toMatchObject({ succeeded: 4, requeued: 1, failed: 0, lost: 0 });
    expect(own).toMatchObject({ status: 'queued', attempts: 1, cursor: null });
    expect(own?.error?.message).toMatch(message);
    expect(signals).toEqual([]);
  });

  const thrown: [string, () => unknown, RegExp][] = [
    ['undefined', () => Promise.reject(undefined), /The connector threw undefined/],
    ['null', () => Promise.reject(null), /The connector threw null/],
    ['text', () => Promise.reject('no luck'), /The connector threw no luck/],
    ['an object', () => Promise.reject({ code: 7 }), /The connector threw \{"code":7\}/],
    ['a circular object', () => Promise.reject(loop), /cannot be read/],
    ['an object without a prototype', () => Promise.reject(Object.create(null)), /The connector threw \{\}/],
    [
      'an Error that cannot be read',
      () =>
        Promise.reject(
          Object.defineProperty(new Error('x'), 'message', {
            get: () => {
              throw new Error('trap');
            },
          }),
        ),
      /cannot be read/,
    ],
    [
      'a rate limit whose hint cannot be read',
      () =>
        Promise.reject({
          [Symbol.for('syncline.connector-error')]: 'rate_limited',
          get retryAfterSeconds() {
            throw new Error('trap');
          },
        }),
      /cannot be read/,
    ],
    ['a symbol', () => Promise.reject(Symbol('odd')), /The connector threw Symbol\(odd\)/],
    ['an Error without a message', () => Promise.reject(new RangeError()), /^RangeError$/],
    [
      'an Error with NUL and a megabyte',
      () => Promise.reject(new Error(`\0${'x'.repeat(1_000_000)}`)),
      /^\uFFFDx{1999}$/,
    ],
    [
      'an Error truncated inside a surrogate pair',
      () => Promise.reject(new Error(`${'x'.repeat(1999)}\u{1F600}`)),
      /^x{1999}\uFFFD$/,
    ],
  ];
  it.each(thrown)('EXE-8: handles a connector that throws %s', async (_name, poison, message) => {
    const { totals, own } = await runPoisoned(poison);
    expect(totals).toMatchObject({ succeeded: 4, requeued: 1 });
    expect(own).toMatchObject({ status: 'queued', attempts: 1 });
    expect(own?.error?.message).toMatch(message);
  });

  it('EXE-11: a result that violates a user-defined constraint fails only its own run', async () => {
    await sql(`ALTER TABLE signals ADD CONSTRAINT no_bots CHECK (kind <> 'bot')`);
    const { totals, own, signals } = await runPoisoned(() =>
      page(signal('fine'), { ...signal(1), kind: 'bot' }),
    );
    await sql('ALTER TABLE signals DROP CONSTRAINT no_bots');
    expect(totals).toMatchObject({ succeeded: 4, requeued: 1 });
    expect(own?.error?.message).toMatch(/Postgres rejected the result of the run: .*no_bots/);
    expect(own).toMatchObject({ status: 'queued', attempts: 1, cursor: null });
    expect(signals).toEqual([]);
  });

  it('EXE-11: a result that cannot be sent to the database fails its run after a few retries', async () => {
    await job(await connect());
    const unsendable = new TypeError('Do not know how to serialize a BigInt');
    const engine = database.engine({
      connectors: [connector(() => page(signal(1)))],
      ports: {
        ...systemPorts,
        query: (statement, send) =>
          /INSERT INTO \S+signals/.test(statement) ? Promise.reject(unsendable) : send(),
      },
    });
    expect(await engine.drain()).toMatchObject({ requeued: 1 });
    const [own] = await sql<{ error: { message: string } }>('SELECT status, attempts, error FROM sync_jobs');
    expect(own).toMatchObject({ status: 'queued', attempts: 1 });
    expect(own?.error.message).toMatch(/serialize a BigInt/);
  });

  it('EXE-9: a connector that never resolves is aborted after maxRunSeconds and retried', async () => {
    const { totals, own } = await runPoisoned(() => new Promise(() => {}), { maxRunSeconds: 1 });
    expect(totals).toMatchObject({ succeeded: 4, requeued: 1 });
    expect(own?.error?.message).toBe('The run took longer than 1 s and was aborted.');
    expect(own).toMatchObject({ status: 'queued', attempts: 1 });
  });
});
