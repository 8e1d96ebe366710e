import { type AddressInfo, createServer } from 'node:net';
import { beforeEach, describe, expect, it } from 'vitest';
import { addressesOf } from '../../../src/connectors/postgres/address.ts';
import { configSchema } from '../../../src/connectors/postgres/config.ts';
import { connectorErrorKind } from '../../../src/contract/errors.ts';
import type { SyncResult } from '../../../src/index.ts';
import { useDatabase } from '../../support/database.ts';
import { recordingLogger } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import { useSource } from './source.ts';

const database = useDatabase();
const { sql } = database;
const source = useSource(database);
const { walk, runOnce, table } = source;

const items = { table: 'source.items', cursorColumn: 'updated_at', keyColumns: ['id'] };
async function createItems(): Promise<void> {
  await table('items', 'id int PRIMARY KEY, updated_at timestamptz, title text');
  await sql('CREATE INDEX by_time ON source.items (updated_at, id)');
}

const rowsOf = (pages: SyncResult[]) =>
  pages.flatMap(({ signals }) => signals.map(({ payload }) => payload as Record<string, unknown>));
const idsOf = (pages: SyncResult[]) => rowsOf(pages).map(({ id }) => Number(id));
const keysOf = (pages: SyncResult[]) =>
  pages.flatMap(({ signals }) => signals.map(({ dedupeKey }) => dedupeKey));
const idsUpTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const ascending = (numbers: number[]) => [...numbers].sort((a, b) => a - b);

const failure = (run: Promise<unknown>) =>
  run.then(
    () => expect.fail('the run succeeded'),
    (error: Error) => ({ kind: connectorErrorKind(error), message: error.message }),
  );

describe('walk', () => {
  beforeEach(createItems);

  it('postgres: the first sync finds every row once, later syncs only changes', async () => {
    await sql(
      `INSERT INTO source.items SELECT n, '2025-01-01Z'::timestamptz + n * interval '1 minute' FROM generate_series(1, 25) n`,
    );
    const first = await walk({ ...items, pageSize: 10 });
    expect(first.pages.map(({ signals }) => signals.length)).toEqual([10, 10, 5]);
    expect(first.ids).toEqual(idsUpTo(25));
    expect(first.pages[0]?.signals[0]).toEqual({
      kind: 'items.changed',
      occurredAt: new Date('2025-01-01T00:01:00Z'),
      payload: { id: 1, updated_at: '2025-01-01T00:01:00+00:00', title: null },
      dedupeKey: expect.stringMatching(/^\["source.items","1","2025-01-01 00:01:00\+00"\]:[0-9a-f]{64}$/),
    });
    const idle = await walk(items, first);
    expect(idle.ids).toEqual([]);
    await sql(`UPDATE source.items SET updated_at = '2025-02-01Z', title = 'new' WHERE id = 3`);
    await sql(`INSERT INTO source.items VALUES (26, '2025-02-02Z')`);
    expect((await walk(items, idle)).ids).toEqual([3, 26]);
  });

  it('postgres: ties at page boundaries cause neither loss nor duplicates in 10,000 rows', async () => {
    await sql(
      `INSERT INTO source.items SELECT n, '2025-01-01Z'::timestamptz + (n % 3) * interval '1 hour' FROM generate_series(1, 10000) n`,
    );
    const { pages } = await walk({ ...items, pageSize: 100 });
    expect(pages).toHaveLength(101);
    expect(ascending(idsOf(pages))).toEqual(idsUpTo(10_000));
  });

  it('postgres: cursor values keep microsecond precision', async () => {
    await sql(
      `INSERT INTO source.items SELECT n, '2025-01-01Z'::timestamptz + (11 - n) * interval '1 microsecond' FROM generate_series(1, 10) n`,
    );
    const { pages } = await walk({ ...items, pageSize: 1 });
    expect(idsOf(pages)).toEqual([...idsUpTo(10)].reverse());
  });

  it('postgres: rows edited during the walk are read again, and no other row is lost', async () => {
    await sql(
      `INSERT INTO source.items SELECT n, '2025-01-01Z'::timestamptz + n * interval '1 second' FROM generate_series(1, 50) n`,
    );
    const { pages, cursor } = await walk({ ...items, pageSize: 10 }, {}, async (page) => {
      // Move rows behind and ahead of the walk: to the end, and just behind the current position.
      if (page === 2)
        await sql(
          `UPDATE source.items SET title = 'edited', updated_at = '2025-01-01Z'::timestamptz + CASE WHEN id IN (5, 35) THEN interval '1 hour' ELSE interval '10.5 seconds' END WHERE id IN (5, 35, 40)`,
        );
    });
    const { pages: later } = await walk(items, { cursor });
    const seen = rowsOf([...pages, ...later]);
    expect(new Set(seen.map(({ id }) => id)).size).toBe(50);
    for (const id of [5, 35, 40])
      expect(seen.filter((row) => row['id'] === id).at(-1)).toMatchObject({ title: 'edited' });
    // Row 5 was read in both versions; repeated rows keep their dedupe key.
    expect(new Set(keysOf([...pages, ...later])).size).toBe(51);
  });

  it('postgres: warns once about rows with a NULL cursor and once about a missing index', async () => {
    const { log, lines } = recordingLogger('warn');
    await sql('DROP INDEX source.by_time');
    await sql(
      `INSERT INTO source.items SELECT n, CASE WHEN n > 5 THEN '2025-01-01Z'::timestamptz END FROM generate_series(1, 25) n`,
    );
    const { pages } = await walk({ ...items, pageSize: 10 }, { log });
    expect(idsOf(pages)).toHaveLength(20);
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(
        /No index begins with "updated_at".*CREATE INDEX CONCURRENTLY ON "source"."items" \("updated_at", "id"\)/,
      ),
      '5 rows are skipped: their "updated_at" is NULL.',
    ]);
  });

  it('postgres: a row with a time in the far future does not hide later rows', async () => {
    await sql(`INSERT INTO source.items VALUES (1, '2025-01-01Z'), (2, '2999-01-01Z')`);
    const first = await walk(items);
    await sql(`INSERT INTO source.items VALUES (3, now())`);
    expect((await walk(items, first)).ids).toEqual([3]);
  });

  it('postgres: oversized rows are replaced by their key and size on the server', async () => {
    await sql(
      `INSERT INTO source.items VALUES (1, '2025-01-01Z', repeat('x', 2000000)), (2, '2025-01-02Z', 'small')`,
    );
    const { pages } = await walk(items);
    expect(rowsOf(pages)).toEqual([
      { id: '1', $oversize: { bytes: 2000065, limit: 1048576 } },
      expect.objectContaining({ id: 2 }),
    ]);
  });

  it('postgres: a page ends at its size limit in bytes', async () => {
    await sql(
      `INSERT INTO source.items SELECT n, '2025-01-01Z', repeat('x', 1000000) FROM generate_series(1, 20) n`,
    );
    const { pages } = await walk(items);
    expect(pages.map(({ signals }) => signals.length)).toEqual([8, 8, 4]);
    expect(idsOf(pages)).toEqual(idsUpTo(20));
  });
});

describe('late commits', () => {
  beforeEach(createItems);
  const insert = 'INSERT INTO source.items VALUES ($1, $2)';

  it('postgres: finds rows of a transaction that was open during the first walk', async () => {
    await sql(
      `INSERT INTO source.items SELECT n, '2025-01-01Z'::timestamptz + n * interval '1 day' FROM generate_series(1, 40) n`,
    );
    const session = await database.session();
    await session.query('BEGIN');
    // Writes after a savepoint have their own transaction id.
    await session.query('SAVEPOINT one');
    await session.query(insert, [100, '2020-01-01Z']);
    const first = await walk({ ...items, pageSize: 10 });
    const second = await walk({ ...items, pageSize: 10 }, first);
    expect([first.ids, second.ids]).toEqual([idsUpTo(40), []]);
    await session.query('COMMIT');
    const third = await walk({ ...items, pageSize: 10 }, second);
    expect(third.ids).toEqual([100]);
    expect((await walk(items, third)).ids).toEqual([]);
  });

  it('postgres: finds rows of a transaction that stays open for many walks', async () => {
    await sql(insert, [1, '2025-01-01T00:00:00Z']);
    let last = await walk(items);
    const session = await database.session();
    await session.query('BEGIN');
    await session.query(insert, [1000, '2025-01-01T01:00:00Z']);
    const found: number[] = [];
    for (let n = 2; n < 40; n++) {
      await sql(insert, [n, `2025-01-0${2 + Math.floor(n / 10)}T${String(n % 10).padStart(2, '0')}:00:00Z`]);
      last = await walk(items, last);
      found.push(...last.ids);
    }
    expect(found).toEqual(idsUpTo(39).slice(1));
    expect((last.cursor as { walks: unknown[] }).walks.length).toBeLessThanOrEqual(16);
    await session.query('COMMIT');
    last = await walk(items, last);
    expect(last.ids).toEqual([1000]);
    // After its end, the cursor drops the walks kept for it.
    await until('the walks are dropped', async () => {
      last = await walk(items, last);
      return (last.cursor as { walks: unknown[] }).walks.length <= 2;
    });
  });

  it('postgres: finds rows written after the last walk within the lookback', async () => {
    await sql(insert, [1, '2025-01-01T01:00:00Z']);
    const first = await walk(items);
    await sql(insert, [2, '2025-01-01T00:55:01Z']);
    expect((await walk(items, first)).ids).toEqual([2]);
    await sql(insert, [3, '2025-01-01T00:50:01Z']);
    expect((await walk({ ...items, lookbackSeconds: 600 }, first)).ids).toEqual([3, 2]);
  });

  it('postgres: a lookback over more rows than a page terminates without new dedupe keys', async () => {
    await sql(`INSERT INTO source.items SELECT n, '2025-01-01Z' FROM generate_series(1, 100) n`);
    const first = await walk({ ...items, pageSize: 10 });
    // As after a restore: every row is rewritten without changes.
    await sql(`UPDATE source.items SET title = title`);
    const second = await walk({ ...items, pageSize: 10 }, first);
    expect(second.pages).toHaveLength(11);
    expect(new Set([...keysOf(first.pages), ...keysOf(second.pages)]).size).toBe(100);
    expect((await walk({ ...items, pageSize: 10 }, second)).ids).toEqual([]);
  });

  it('postgres: syncing an idle table transfers no rows', async () => {
    await sql(`INSERT INTO source.items SELECT n, '2025-01-01Z' FROM generate_series(1, 5000) n`);
    let last = await walk(items);
    // Transactions of other tests on the server may delay this.
    await until('no rows are transferred', async () => {
      last = await walk(items, last);
      return last.pages.every(({ signals }) => signals.length === 0);
    });
  });

  it('postgres: lookbackRows finds sequence numbers that are committed late', async () => {
    await table('numbers', 'id bigint PRIMARY KEY');
    const numbers = { table: 'source.numbers', cursorColumn: 'id', keyColumns: ['id'], lookbackRows: 5 };
    await sql('INSERT INTO source.numbers SELECT 2 * n FROM generate_series(1, 20) n');
    const session = await database.session();
    await session.query('BEGIN');
    await session.query('INSERT INTO source.numbers VALUES (5)');
    const first = await walk({ ...numbers, pageSize: 7 });
    await session.query('COMMIT');
    await sql('INSERT INTO source.numbers VALUES (31), (29), (9007199254740993)');
    const second = await walk({ ...numbers, pageSize: 7 }, first);
    const late = ['5', '29', '31', '9007199254740993'];
    expect(rowsOf(second.pages).map(({ id }) => id)).toEqual(expect.arrayContaining(late));
    await sql('INSERT INTO source.numbers VALUES (33)');
    expect((await walk(numbers, second)).ids).toEqual([33]);
  });

  it('postgres: a view, whose rows have no xmin, is read again within the lookback', async () => {
    await sql(`INSERT INTO source.items VALUES (1, '2025-01-01T00:00:00Z'), (2, '2025-01-01T01:00:00Z')`);
    await sql('CREATE VIEW source.seen AS SELECT * FROM source.items');
    const seen = { ...items, table: 'source.seen' };
    const first = await walk(seen);
    await sql(`INSERT INTO source.items VALUES (3, '2025-01-01T00:58:00Z')`);
    const second = await walk(seen, first);
    expect(idsOf(second.pages)).toEqual([3, 2]);
    expect(keysOf(second.pages)[1]).toBe(keysOf(first.pages)[1]);
  });

  it('postgres: the walk continues on another server with lower transaction ids', async () => {
    await sql(`INSERT INTO source.items VALUES (1, '2025-01-01T00:00:00Z')`);
    const { cursor } = await walk(items);
    const foreignCursor = {
      ...(cursor as object),
      xmin: '900000000000',
      walks: [{ next: '900000000001', highest: '2025-01-01 00:00:00+00' }],
    };
    await sql(`INSERT INTO source.items VALUES (2, '2024-12-31T23:59:00Z'), (3, '2025-01-02T00:00:00Z')`);
    const next = await walk(items, { cursor: foreignCursor });
    expect(idsOf(next.pages)).toEqual([2, 1, 3]);
    expect((await walk(items, next)).ids).toEqual([]);
  });
});

describe('columns', () => {
  it.each([
    ['timestamptz', `'2025-01-01Z'::timestamptz + n * interval '1 microsecond'`],
    ['timestamp', `'2025-01-01'::timestamp + n * interval '1 microsecond'`],
    ['date', `'2025-01-01'::date + n / 3`],
    ['smallint', 'n / 2'],
    ['integer', 'n'],
    ['bigint', '9007199254740990 + n'],
    ['numeric', 'n / 7.0'],
    ['numeric(12,2)', 'n / 4.0'],
    ['uuid', `('01940000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid`],
    ['text', `chr(64 + n) || 'ä'`],
    ['varchar(10)', `'Z' || n % 4`],
  ])('postgres: reads a cursor column of type %s in its order', async (type, value) => {
    await table('typed', `id int PRIMARY KEY, c ${type}`);
    await sql(`INSERT INTO source.typed SELECT n, ${value} FROM generate_series(1, 11) n`);
    const config = { table: 'source.typed', cursorColumn: 'c', keyColumns: ['id'], pageSize: 3 };
    const first = await walk(config);
    const expected = await sql<{ id: number }>('SELECT id FROM source.typed ORDER BY c, id');
    expect(first.ids).toEqual(expected.map(({ id }) => id));
    expect((await walk(config, first)).ids).toEqual([]);
  });

  it('postgres: preserves values of every type', async () => {
    await table(
      'wide',
      `id int PRIMARY KEY, at timestamptz DEFAULT '2025-01-01 00:00:00.123456Z', b bool DEFAULT true, i8 bigint DEFAULT 9223372036854775807,
       n numeric DEFAULT 12345678901234567890.123456789, f float8 DEFAULT 'NaN', t text DEFAULT E'a"\\n\\u0001ü', j jsonb DEFAULT '{"a":[1,null]}',
       y bytea DEFAULT '\\xdead', u uuid DEFAULT '01940000-0000-7000-8000-000000000001', d date DEFAULT 'infinity', a int[] DEFAULT '{1,NULL}',
       an numeric[] DEFAULT '{12345678901234567890.5}', r int4range DEFAULT '[1,5)', v interval DEFAULT '1 day', nothing text, ip inet DEFAULT '::1'`,
    );
    await sql('INSERT INTO source.wide (id) VALUES (1)');
    const { signals } = await runOnce({ table: 'source.wide', cursorColumn: 'at', keyColumns: ['id'] });
    expect(signals[0]?.payload).toEqual({
      id: 1,
      at: '2025-01-01T00:00:00.123456+00:00',
      b: true,
      i8: '9223372036854775807',
      n: '12345678901234567890.123456789',
      f: 'NaN',
      t: 'a"\n\u0001ü',
      j: { a: [1, null] },
      y: '\\xdead',
      u: '01940000-0000-7000-8000-000000000001',
      d: 'infinity',
      a: [1, null],
      an: ['12345678901234567890.5'],
      r: '[1,5)',
      v: '1 day',
      nothing: null,
      ip: '::1/128',
    });
    const { signals: some } = await runOnce({
      table: 'source.wide',
      cursorColumn: 'at',
      keyColumns: ['id'],
      columns: ['b'],
      kind: 'w.seen',
    });
    expect(some).toMatchObject([{ kind: 'w.seen', payload: { b: true } }]);
  });

  it('postgres: quotes hostile table and column names', async () => {
    const evil = '"; DROP TABLE source.items; --';
    const quotedEvil = `"${evil.replaceAll('"', '""')}"`;
    await createItems();
    await sql(`CREATE TABLE source.${quotedEvil} (${quotedEvil} int PRIMARY KEY, "c.d" date)`);
    try {
      await sql(`INSERT INTO source.${quotedEvil} VALUES (1, '2025-01-01'), (2, '2025-01-02')`);
      const config = {
        table: { schema: 'source', name: evil },
        cursorColumn: 'c.d',
        keyColumns: [evil],
        pageSize: 1,
      };
      const { pages } = await walk(config);
      expect(rowsOf(pages).map((row) => row[evil])).toEqual([1, 2]);
      expect(await failure(runOnce({ ...items, cursorColumn: evil }))).toMatchObject({ kind: 'permanent' });
      expect(await sql('SELECT FROM source.items')).toEqual([]);
    } finally {
      await sql(`DROP TABLE source.${quotedEvil}`);
    }
  });
});

describe('errors', () => {
  beforeEach(createItems);

  it('postgres: a wrong password is an unauthorized error', async () => {
    const credential = { ...source.credential(), password: 'wrong-password' };
    const { kind, message } = await failure(runOnce(items, { credential }));
    expect({ kind, message }).toMatchObject({
      kind: 'unauthorized',
      message: expect.stringMatching(/rejected the user or password/),
    });
    expect(message).not.toContain('wrong-password');
  });

  it('postgres: does not send PGPASSWORD without a credential', async () => {
    process.env['PGPASSWORD'] = source.credential().password;
    try {
      const { username: user } = source.credential();
      expect(await failure(runOnce({ ...items, user }, { credential: undefined }))).toMatchObject({
        kind: 'unauthorized',
      });
    } finally {
      delete process.env['PGPASSWORD'];
    }
  });

  it('postgres: accepts user and password as a custom credential', async () => {
    const { username: user, password } = source.credential();
    expect(
      await runOnce(items, { credential: { type: 'custom', fields: { user, password } } }),
    ).toMatchObject({ signals: [] });
  });

  it.each([
    [
      { table: 'source.itms' },
      /no table "source.itms".*Did you mean "source.items"\? There are: source.items/,
    ],
    [
      { cursorColumn: 'update_at' },
      /no column "update_at". Did you mean "updated_at"\? There are: id, updated_at, title/,
    ],
    [{ keyColumns: ['nr'] }, /config.keyColumns: source.items has no column "nr"/],
    [{ keyColumns: ['title'] }, /"title" may be NULL.*The primary key is \(id\)/],
    [{ columns: ['id', 'x'] }, /config.columns: source.items has no column "x"/],
    [
      { lookbackRows: 5 },
      /lookbackRows cannot be used with a cursor column of type timestamp with time zone: use lookbackSeconds/,
    ],
    [{ database: 'nowhere_at_all' }, /"nowhere_at_all" does not exist. Correct config.database/],
    [{ ssl: 'verify' }, /does not support SSL.*set config.ssl to "off"/],
  ])('postgres: %j is a permanent error with a hint', async (change, message) => {
    expect(await failure(runOnce({ ...items, ...change }))).toEqual({
      kind: 'permanent',
      message: expect.stringMatching(message),
    });
  });

  it('postgres: rejects key columns without a unique index, because rows could be lost', async () => {
    await table('loose', 'id int NOT NULL, at date NOT NULL');
    expect(await failure(runOnce({ table: 'source.loose', cursorColumn: 'at', keyColumns: ['id'] }))).toEqual(
      {
        kind: 'permanent',
        message:
          'config.keyColumns: no unique index covers "at", "id" in source.loose. The table has no primary key.',
      },
    );
  });

  it('postgres: missing SELECT permission is a permanent error that names the required grants', async () => {
    await sql(`DROP ROLE IF EXISTS reader_of_nothing`);
    await sql(`CREATE ROLE reader_of_nothing LOGIN PASSWORD 'pw-of-reader'`);
    try {
      const credential = { type: 'basic', username: 'reader_of_nothing', password: 'pw-of-reader' } as const;
      expect(await failure(runOnce(items, { credential }))).toMatchObject({
        kind: 'permanent',
        message: expect.stringMatching(
          /permission denied.*needs SELECT on the table and USAGE on its schema/,
        ),
      });
    } finally {
      await sql('DROP ROLE reader_of_nothing');
    }
  });

  it('postgres: a refused connection is transient', async () => {
    expect(await failure(runOnce({ ...items, port: 1 }))).toMatchObject({
      kind: 'transient',
      message: expect.stringMatching(/^127.0.0.1:1 cannot be reached: .*ECONNREFUSED/),
    });
  });

  it('postgres: a statement timeout is transient and suggests an index', async () => {
    await sql(`CREATE VIEW source.slow AS SELECT id, updated_at FROM source.items, pg_sleep(5)`);
    await sql(`INSERT INTO source.items VALUES (1, now())`);
    expect(
      await failure(runOnce({ ...items, table: 'source.slow' }, {}, { statementTimeoutSeconds: 0.1 })),
    ).toMatchObject({
      kind: 'transient',
      message: expect.stringMatching(/took too long.*CREATE INDEX CONCURRENTLY/),
    });
  });

  it('postgres: an abort cancels the statement on the server', async () => {
    await sql(`CREATE VIEW source.asleep AS SELECT id, updated_at FROM source.items, pg_sleep(60)`);
    await sql(`INSERT INTO source.items VALUES (1, now())`);
    const abort = new AbortController();
    const run = failure(runOnce({ ...items, table: 'source.asleep' }, { abortSignal: abort.signal }));
    const running = () =>
      sql(
        `SELECT FROM pg_stat_activity WHERE application_name = 'syncline' AND query LIKE '%"asleep"%' AND state = 'active'`,
      );
    await until('the statement runs', async () => (await running()).length === 1);
    abort.abort(new Error('cancelled'));
    expect(await run).toMatchObject({ message: 'cancelled' });
    await until('the statement has ended', async () => (await running()).length === 0);
  });

  it('postgres: a cursor of other columns or types is expired', async () => {
    await sql(`INSERT INTO source.items VALUES (1, now())`);
    const { cursor } = await walk(items);
    expect(await failure(runOnce({ ...items, cursorColumn: 'id' }, { cursor }))).toMatchObject({
      kind: 'cursor_expired',
    });
    await sql('ALTER TABLE source.items ALTER updated_at TYPE timestamp');
    expect(await failure(runOnce(items, { cursor }))).toMatchObject({ kind: 'cursor_expired' });
  });

  it('postgres: runs are read-only, also for functions', async () => {
    await sql(
      `CREATE FUNCTION source.writes() RETURNS int LANGUAGE sql AS 'INSERT INTO source.items VALUES (7, now()) RETURNING id'`,
    );
    await sql(`CREATE VIEW source.trap AS SELECT source.writes() AS id, now() AS updated_at`);
    expect(await failure(runOnce({ ...items, table: 'source.trap' }))).toMatchObject({
      message: expect.stringMatching(/read-only transaction/),
    });
    await sql('DROP FUNCTION source.writes CASCADE');
  });

  it('postgres: config errors name the field', () => {
    const problems = (change: object) =>
      configSchema
        .safeParse({ host: 'db.example', database: 'd', ...items, ...change })
        .error?.issues.map(({ path }) => path.join('.'));
    expect(problems({})).toBeUndefined();
    expect(problems({ tabel: 1 })).toEqual(['']);
    expect(problems({ host: '/var/run' })).toEqual(['host']);
    expect(problems({ keyColumns: [] })).toEqual(['keyColumns']);
    expect(problems({ keyColumns: ['a', 'a'] })).toEqual(['keyColumns']);
    expect(problems({ pageSize: 0, port: 70_000 })).toEqual(['port', 'pageSize']);
  });
});

describe('network', () => {
  it('postgres: rejects hosts without a public address with a hint', async () => {
    await createItems();
    expect(await failure(runOnce(items, {}, { network: 'public' }))).toEqual({
      kind: 'permanent',
      message: expect.stringMatching(
        /"127.0.0.1" is at 127.0.0.1, which is not a public internet address.*network: 'any'/,
      ),
    });
  });

  it.each([
    '10.1.2.3',
    '169.254.169.254',
    '::1',
    'fd00::1',
    'fe80::1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '0.0.0.0',
    '100.64.0.1',
  ])('postgres: rejects a name that resolves to %s, also if another address is public', async (address) => {
    const lookup = async () => [{ address: '93.184.215.14' }, { address }];
    expect(await failure(addressesOf('db.example', 'public', lookup))).toMatchObject({ kind: 'permanent' });
    expect(await addressesOf('db.example', 'any', lookup)).toEqual(['93.184.215.14', address]);
  });

  it('postgres: resolves the name once and connects to the checked address', async () => {
    await createItems();
    const { port } = new URL(database.url);
    let lookups = 0;
    const lookup = async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '203.0.113.1' }];
    await runOnce({ ...items, host: 'db.example', port: Number(port) }, {}, { lookup });
    expect(lookups).toBe(1);
  });

  it('postgres: TLS SNI contains the host name', async () => {
    let hello = '';
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write('S');
        socket.once('data', (data) => {
          hello = data.toString('latin1');
          socket.destroy();
        });
      });
      socket.on('error', () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const lookup = async () => [{ address: '127.0.0.1' }];
    const run = runOnce({ ...items, host: 'db.example', port, ssl: 'verify' }, {}, { lookup });
    expect(await failure(run)).toMatchObject({ kind: 'transient' });
    server.close();
    expect(hello).toContain('db.example');
  });

  it('postgres: a DNS failure is transient', async () => {
    const lookup = () => Promise.reject(new Error('getaddrinfo EAI_AGAIN db.example'));
    expect(await failure(addressesOf('db.example', 'public', lookup))).toMatchObject({ kind: 'transient' });
  });
});
