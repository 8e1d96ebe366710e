import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createRedactor } from '../../../src/connectors/singer/redact.ts';
import { connectorErrorKind } from '../../../src/contract/errors.ts';
import { memoryContext } from '../../../src/testing/context.ts';
import { recordingLogger } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { fixture, isRunning, newFile, notesIn, runOnce, tap } from './tap.ts';

const failure = (run: Promise<unknown>) =>
  run.then(
    () => expect.fail('the run succeeded'),
    (error: Error) => ({ kind: connectorErrorKind(error), message: error.message }),
  );

const schema = '{"type":"SCHEMA","stream":"items","key_properties":["id"],"schema":{}}';
const record = (id: number) => `{"type":"RECORD","stream":"items","record":{"id":${id}}}`;
const state = (value: unknown) => JSON.stringify({ type: 'STATE', value });
const lines = (...all: string[]) => ({ behaviour: 'lines', lines: all });
const ids = (page: { signals: readonly { payload: unknown }[] }) =>
  page.signals.map(({ payload }) => (payload as { id: number }).id);

describe('output in published formats', () => {
  const replay = (name: string, options = {}) =>
    runOnce({ behaviour: 'replay', output: fixture(name) }, options);

  it('singer: converts messages of the specification to signals with the best known time', async () => {
    const { signals, nextCursor, hasMore } = await replay('spec.singer');
    expect(signals).toMatchObject([
      { kind: 'users.record', occurredAt: new Date('2024-03-01T08:00:00Z'), payload: { id: 1, name: 'Ada' } },
      { kind: 'places.record', occurredAt: new Date('2024-03-02T10:11:12Z'), payload: { city: 'Zürich' } },
      { kind: 'users.record', occurredAt: new Date('2024-03-01T09:00:00Z'), payload: { id: 2, name: null } },
      { kind: 'users.record', occurredAt: new Date('2024-03-01T10:00:00Z'), payload: { id: 3 } },
    ]);
    // The last record follows the last STATE: it is stored and the state is unchanged.
    expect({ nextCursor, hasMore }).toEqual({
      nextCursor: { state: { users: 2, places: 1 } },
      hasMore: undefined,
    });
  });

  it('singer: ignores an empty STATE and parses times with an offset', async () => {
    const { signals, nextCursor } = await replay('sdk.singer');
    expect(signals).toHaveLength(3);
    expect(signals[0]?.occurredAt).toEqual(new Date('2024-05-04T12:00:00.123Z'));
    expect(nextCursor).toEqual({
      state: {
        bookmarks: {
          issues: { replication_key: 'updated_at', replication_key_value: '2024-05-03T00:00:00Z' },
        },
      },
    });
  });

  it('singer: preserves integers beyond 2^53 in keys, payloads and state', async () => {
    const { signals, nextCursor } = await replay('pipelinewise.singer');
    expect(signals.map(({ payload }) => (payload as { order_id: unknown }).order_id)).toEqual([
      '9007199254740992',
      '9007199254740993',
      '9007199254740993',
    ]);
    expect(new Set(signals.map(({ dedupeKey }) => dedupeKey)).size).toBe(3);
    const notes = newFile();
    await runOnce({ behaviour: 'show', notes }, {}, { cursor: nextCursor });
    expect(notesIn(notes)?.['stateText']).toMatch(/"lsn":9223372036854775003,/);
  });
});

describe('inputs of a tap', () => {
  it('singer: a tap gets config, credential and state in files, not the engine environment', async () => {
    process.env['SYNCLINE_SECRET_OF_TEST'] = 'x';
    const notes = newFile();
    await runOnce(
      { behaviour: 'show', notes, site: 'a' },
      { env: { EXTRA: '1' } },
      { credential: { type: 'custom', fields: { api_key: 'k' } }, cursor: { state: { items: 4 } } },
    );
    delete process.env['SYNCLINE_SECRET_OF_TEST'];
    const seen = notesIn(notes) as Record<string, Record<string, unknown>>;
    const folder = seen['cwd'] as unknown as string;
    expect(seen['config']).toMatchObject({ site: 'a', api_key: 'k' });
    expect(seen['state']).toEqual({ items: 4 });
    expect(seen['environment']).toEqual({
      PATH: process.env['PATH'],
      LANG: expect.any(String),
      HOME: folder,
      TMPDIR: folder,
      EXTRA: '1',
    });
    expect(existsSync(folder)).toBe(false);
  });

  it('singer: selects streams in the catalog of the tap, which is discovered once', async () => {
    const [notes, discoveries] = [newFile(), newFile()];
    const selecting = tap({
      streams: ['items', { stream: 'users', metadata: { 'replication-method': 'FULL_TABLE' } }],
    });
    const context = memoryContext({ config: { behaviour: 'show', notes, discoveries } });
    await selecting.sync(context);
    await selecting.sync(context);
    expect(readFileSync(discoveries, 'utf8')).toBe('.');
    const catalog = notesIn(notes)?.['catalog'] as { streams: Record<string, unknown>[] } | undefined;
    expect(catalog?.streams).toMatchObject([
      {
        schema: { selected: true },
        metadata: [
          { breadcrumb: [], metadata: { selected: true, 'table-key-properties': ['id'] } },
          { metadata: { inclusion: 'automatic' } },
          { metadata: { inclusion: 'available', selected: true } },
          { metadata: { 'selected-by-default': false } },
        ],
      },
      { metadata: [{ breadcrumb: [], metadata: { selected: true, 'replication-method': 'FULL_TABLE' } }] },
      { schema: { selected: false }, metadata: [{ breadcrumb: [], metadata: { selected: false } }] },
    ]);
  });

  it('singer: an unknown stream is an error that lists the available ones', async () => {
    expect(await failure(runOnce({}, { streams: ['itmes'] }))).toEqual({
      kind: 'permanent',
      message: 'The tap has no stream "itmes". It has: items, main-plans, main-users.',
    });
  });

  it('singer: a missing tap is a permanent error with a hint', async () => {
    expect(await failure(runOnce({}, { command: ['tap-missing'] }))).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching(/"tap-missing" cannot be started: it was not found. Install it/),
    });
  });

  it('singer: rejects credentials other than custom', async () => {
    const credential = { type: 'api_key', key: 'k' } as const;
    expect(await failure(runOnce({}, {}, { credential }))).toMatchObject({ kind: 'permanent' });
  });
});

describe('tokens renewed by a tap', () => {
  const fields = { refresh_token: 'old', client: 'c' };
  it.each([0, 1])('singer: saves what the tap wrote into its config, with exit code %i', async (code) => {
    const context = memoryContext({
      config: { behaviour: 'renew', code },
      credential: { type: 'custom', fields },
    });
    await tap()
      .sync(context)
      .catch(() => {});
    expect(await context.credentials.get()).toMatchObject({
      fields: { refresh_token: 'renewed', client: 'c', expires: 5 },
    });
  });

  it.each([
    ['removes', z.object({ refresh_token: z.string(), client: z.string() })],
    ['refuses', z.strictObject({ refresh_token: z.string(), client: z.string() })],
  ])('singer: saves only keys that credentialSchema allows; it %s others', async (_, credentialSchema) => {
    const { log, lines: logged } = recordingLogger();
    const config = { behaviour: 'renew' };
    const context = memoryContext({ config, log, credential: { type: 'custom', fields } });
    await tap({ credentialSchema }).sync(context);
    expect(await context.credentials.get()).toMatchObject({
      fields: { refresh_token: 'renewed', client: 'c' },
    });
    expect(await context.credentials.get()).not.toHaveProperty('fields.expires');
    expect(logged).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/\(expires\).*credentialSchema does not allow/) },
      { level: 'info', msg: expect.stringContaining('(refresh_token)') },
    ]);
  });

  it('singer: does not save keys of the schema output that are not in the credential', async () => {
    const credentialSchema = z
      .object({ client: z.string() })
      .transform(({ client }) => ({ refresh_token: `made of ${client}` }));
    const context = memoryContext({
      ...{ config: { behaviour: 'renew' }, credential: { type: 'custom', fields } },
    });
    await tap({ credentialSchema }).sync(context);
    expect(await context.credentials.get()).toHaveProperty('fields', fields);
  });

  it('singer: without a custom credential, a changed config logs only field names', async () => {
    const { log, lines: logged } = recordingLogger();
    await runOnce({ behaviour: 'renew' }, {}, { log });
    expect(logged).toMatchObject([
      { level: 'warn', msg: expect.stringMatching(/\(refresh_token, expires\).*no custom credential/) },
    ]);
    expect(JSON.stringify(logged)).not.toContain('renewed');
  });

  it('singer: a config file corrupted by the tap is not saved', async () => {
    const context = memoryContext({ config: { behaviour: 'spoil' }, credential: { type: 'custom', fields } });
    await tap().sync(context);
    expect(await context.credentials.get()).toMatchObject({ fields });
  });
});

describe('pages', () => {
  it('singer: a page ends at the first STATE after pageRecords, and the next continues there', async () => {
    const first = await runOnce({ items: 12, stateEvery: 2 }, { pageRecords: 5 });
    expect({ ids: ids(first), hasMore: first.hasMore }).toEqual({ ids: [1, 2, 3, 4, 5, 6], hasMore: true });
    expect(first.nextCursor).toMatchObject({ state: { items: 1 } });
    const second = await runOnce(
      { items: 12, stateEvery: 2 },
      { pageRecords: 5 },
      { cursor: first.nextCursor },
    );
    expect(ids(second)).toEqual([6, 7, 8, 9, 10, 11]);
    // Records repeated by inclusive bookmarks keep their dedupe key.
    expect(second.signals[0]?.dedupeKey).toBe(first.signals[5]?.dedupeKey);
  });

  it.each([
    ['with the same states', false],
    ['with other states each time', true],
  ])(
    'singer: a tap that restarts from the beginning when stopped, %s, is read to its end',
    async (_name, restless) => {
      const config = { items: 100, stateEvery: 1, restarts: true, restless };
      const walk = [await runOnce(config, { pageRecords: 10 })];
      while (walk.at(-1)?.hasMore && walk.length < 5)
        walk.push(await runOnce(config, { pageRecords: 10 }, { cursor: walk.at(-1)?.nextCursor }));
      expect(walk.map((page) => page.signals.length)).toEqual([10, 100]);
      expect(walk.at(-1)?.nextCursor).toMatchObject({ state: { items: 19 } });
      expect(walk.at(-1)?.nextCursor).not.toHaveProperty('walk');
    },
  );

  it('singer: an empty STATE replaces nothing, and a finished walk leaves the cursor', async () => {
    const cursor = { state: { items: 4 }, walk: { first: 'x', ends: ['y'] } };
    for (const empty of [{}, null, { bookmarks: { items: {} }, currently_syncing: null }]) {
      const page = await runOnce(lines(schema, record(1), state(empty)), {}, { cursor });
      expect(page).toMatchObject({ signals: [{}], nextCursor: { state: { items: 4 } } });
      expect(page.nextCursor).not.toHaveProperty('walk');
    }
  });

  it('singer: an edited record has a new dedupe key; field order does not matter', async () => {
    const { signals } = await runOnce(
      lines(
        schema,
        '{"type":"RECORD","stream":"items","record":{"id":1,"a":{"x":1,"y":2}}}',
        '{"type":"RECORD","stream":"items","record":{"a":{"y":2,"x":1},"id":1}}',
        '{"type":"RECORD","stream":"items","record":{"id":1,"a":{"x":1,"y":3}}}',
      ),
    );
    const [a, b, c] = signals.map(({ dedupeKey }) => dedupeKey);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });

  it('singer: map can rename and skip records', async () => {
    const { signals } = await runOnce(lines(schema, record(1), record(2)), {
      map: (stream, { id }) =>
        id === 1 ? undefined : { kind: `${stream}.seen`, occurredAt: '2025-01-01', payload: id },
    });
    expect(signals).toEqual([
      {
        kind: 'items.seen',
        occurredAt: '2025-01-01',
        payload: 2,
        dedupeKey: expect.stringMatching(/^\["items",2\]:/),
      },
    ]);
  });
});

describe('taps that fail', () => {
  const failing = {
    behaviour: 'fail',
    says: 'INFO password=hunter22 sent\nCRITICAL 500 \u001b[31mfrom server\n',
  };

  it('singer: the error has exit code and stderr without secrets and control characters', async () => {
    expect(await failure(runOnce({ ...failing, code: 3, lines: [schema, record(1)] }))).toEqual({
      kind: 'transient',
      message:
        'The tap exited with code 3: INFO password=[hidden] sent | CRITICAL 500 \\u001b[31mfrom server',
    });
  });

  it('singer: a failure keeps records up to the last STATE, and the next run reports it', async () => {
    const config = { ...failing, lines: [schema, record(1), state({ at: 1 }), record(2)] };
    const page = await runOnce(config);
    expect({ ids: ids(page), hasMore: page.hasMore }).toEqual({ ids: [1], hasMore: true });
    expect(await failure(runOnce(config, {}, { cursor: page.nextCursor }))).toMatchObject({
      kind: 'transient',
    });
  });

  it('singer: a tap that fails with a new state each time backs off and still progresses', async () => {
    const config = { behaviour: 'failMoving' };
    const { nextCursor: cursor } = await runOnce(config);
    expect(await failure(runOnce(config, {}, { cursor }))).toMatchObject({ kind: 'transient' });
    expect(await runOnce(config, {}, { cursor, attempts: 1 })).toMatchObject({ hasMore: true });
  });

  it('singer: stderr that matches `unauthorized` is an unauthorized error', async () => {
    const config = { behaviour: 'fail', says: 'CRITICAL HTTP 401 from server\n' };
    expect(await failure(runOnce(config, { unauthorized: /HTTP 401/ }))).toMatchObject({
      kind: 'unauthorized',
    });
  });

  it('singer: invalid output is an error with line number and excerpt', async () => {
    expect(await failure(runOnce(lines(schema, `<html>\u0007${'x'.repeat(500)}`)))).toEqual({
      kind: 'permanent',
      message: `Line 2 of the tap's output is not a Singer message: "<html>\\u0007${'x'.repeat(73)}…"`,
    });
  });

  it('singer: redacts a secret as stored and as transformed by credentialSchema', async () => {
    const credentialSchema = z
      .object({ account: z.string() })
      .transform(({ account }) => ({ account: account.split('').reverse().join('') }));
    const account = 'stored-4711-of-the-account';
    const transformed = account.split('').reverse().join('');
    const says = `CRITICAL ${transformed} was refused, and ${account} too`;
    await expect(
      runOnce(
        { behaviour: 'fail', says },
        { credentialSchema },
        { credential: { type: 'custom', fields: { account } } },
      ),
    ).rejects.toThrow('CRITICAL [hidden] was refused, and [hidden] too');
  });

  it('singer: the error has the last line of stderr without its newline, also if stderr stays open', async () => {
    const says = 'CRITICAL half a line';
    await expect(
      runOnce({ behaviour: 'leaveDaemon', notes: newFile(), says }, { graceSeconds: 0.2 }),
    ).rejects.toThrow(`The tap exited with code 1: ${says}`);
  });

  it('singer: the excerpt of an invalid line contains no secret', async () => {
    const { message } = await failure(runOnce(lines('{"api_key": "abc123", "config": {"token":"x9"}}')));
    expect(message).toBe(
      `Line 1 of the tap's output is not a Singer message: "{\\"api_key\\": \\"[hidden]", \\"config\\": {\\"token\\":\\"[hidden]"}}"`,
    );
  });

  it.each([
    [
      'a record that is not an object',
      '{"type":"RECORD","stream":"a","record":[]}',
      /Line 1 .* is not an object/,
    ],
    ['a state without value', '{"type":"STATE"}', /Line 1 .* STATE without value/],
    ['NaN', '{"type":"STATE","value":NaN}', /Line 1 .* not a Singer message/],
  ])('singer: %s is an error with line number', async (_name, line, message) => {
    expect(await failure(runOnce(lines(line)))).toEqual({
      kind: 'permanent',
      message: expect.stringMatching(message),
    });
  });

  it('singer: accepts records without a preceding SCHEMA', async () => {
    const { signals } = await runOnce(
      lines(record(1), '{"type":"record","stream":"items","record":{"id":2}}'),
    );
    expect(signals).toMatchObject([{ payload: { id: 1 } }, { payload: { id: 2 } }]);
    expect(new Set(signals.map(({ dedupeKey }) => dedupeKey)).size).toBe(2);
  });

  it('singer: redaction runs in linear time', () => {
    const redact = createRedactor({}, {});
    for (let i = 0; i < 20; i++) redact('token'.repeat(10_000));
    expect(redact('my_token_of_today="abc" and x-api-key: Bearer def')).toBe(
      'my_token_of_today="[hidden]" and x-api-key: [hidden]',
    );
  });

  it('singer: rejects a line of 100 MB without buffering it', async () => {
    expect(await failure(runOnce({ behaviour: 'floodLine' }))).toEqual({
      kind: 'permanent',
      message: "The tap's output is not valid Singer output: A line is longer than 8388608 bytes.",
    });
  });

  it('singer: a million records without STATE are an error', async () => {
    expect(await failure(runOnce({ behaviour: 'floodRecords' }))).toEqual({
      kind: 'permanent',
      message: expect.stringMatching(/more than 100000 records or 32 MB without a new STATE/),
    });
  });
});

describe('abort', () => {
  const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('syncline-tap-'));

  it.each([
    ['hangs', 'hang'],
    ['ignores SIGTERM', 'deaf'],
    ['has a child that ignores SIGTERM', 'fork'],
    ['writes to stderr endlessly', 'chatter'],
  ])(
    'singer: an abort ends all processes and removes all files of a tap that %s',
    async (_name, behaviour) => {
      const notes = newFile();
      const abort = new AbortController();
      const reason = new Error('lease lost');
      const run = failure(
        runOnce({ behaviour, notes }, { graceSeconds: 0.2 }, { abortSignal: abort.signal }),
      );
      await until('the tap runs', () => notesIn(notes) !== undefined);
      const { pid, child, folder } = notesIn(notes) ?? {};
      abort.abort(reason);
      expect(await run).toMatchObject({ message: 'lease lost' });
      // A killed process exists until it is reaped.
      await until('both processes have ended', () =>
        [pid, child].every((id) => id === undefined || !isRunning(id)),
      );
      expect(folders()).not.toContain(String(folder).split('/').at(-1));
    },
  );

  it('singer: ends a child that outlives the tap and holds its output open', async () => {
    const notes = newFile();
    await runOnce({ behaviour: 'fork', leaves: true, notes });
    await until('the child has ended', () => !isRunning(notesIn(notes)?.['child']));
  });

  it('singer: logs at most 1,000 lines of stderr, without secrets', async () => {
    const notes = newFile();
    const { log, lines: logged } = recordingLogger();
    const abort = new AbortController();
    const run = failure(runOnce({ behaviour: 'chatter', notes }, {}, { abortSignal: abort.signal, log }));
    await until('the log limit is exceeded', () => logged.length > 1000);
    abort.abort(new Error('enough'));
    await run;
    expect(logged).toHaveLength(1001);
    expect(logged[0]?.msg).toMatch(/^INFO token=\[hidden\] y+$/);
  });
});
