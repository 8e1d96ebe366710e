import { beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/platform/ports.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, connect } = database;
const others = '00000000-0000-4000-8000-000000000002';

let connection: string;
beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM consumers');
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'others') ON CONFLICT DO NOTHING`, [others]);
  connection = await connect();
});

/** Stores signals of these kinds in one transaction, each with a later id than the one before. */
const store = (kinds: string[], of = tenant) =>
  sql(
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT lpad(n::text, 32, '0')::uuid, $1, 'github', $2, kind, now(), '{}'
     FROM (SELECT kind, row_number() OVER () + (SELECT count(*) FROM signals) AS n FROM unnest($3::text[]) AS kind) new`,
    [of, connection, kinds],
  );

/** Has a janitor delete everything that there is by now. */
async function deleteAll(): Promise<void> {
  await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
  await runJanitor(database, { retention: { signalsDays: 1 } });
  expect(await sql('SELECT FROM signals')).toEqual([]);
}

const kindsOf = (items: { kind: string }[]) => items.map(({ kind }) => kind);

describe('a reader of the feed whose batch was the last to be deleted', () => {
  it('FEED-1: is told so if it had not read all of it', async () => {
    const { signals } = database.engine();
    const { nextCursor: start } = await signals.read({ after: 'latest' });
    await store(['a', 'b', 'c']);
    const { items, nextCursor } = await signals.read({ after: start, limit: 2 });
    expect(kindsOf(items)).toEqual(['a', 'b']);
    await deleteAll();
    await store(['d']);
    for (const after of [items[0]?.cursor, nextCursor])
      await expect(signals.read({ after })).rejects.toMatchObject({ code: 'EXPIRED' });
  });

  it('FEED-1: goes on if it had, whichever cursor it kept', async () => {
    const { signals } = database.engine();
    const { nextCursor: start } = await signals.read({ after: 'latest' });
    await store(['a', 'b']);
    const wholePage = await signals.read({ after: start, limit: 2 });
    const shortPage = await signals.read({ after: start, limit: 3 });
    const firstOfTwo = await signals.read({ after: start, limit: 1 });
    const secondOfTwo = await signals.read({ after: firstOfTwo.nextCursor, limit: 1 });
    // Those of a kind, where others of the same transaction come behind them.
    const filtered = await signals.read({ after: start, kind: 'a', limit: 1 });
    await deleteAll();
    await store(['d']);
    for (const { items, nextCursor } of [wholePage, shortPage, secondOfTwo, filtered])
      for (const after of [items.at(-1)?.cursor, nextCursor])
        expect(kindsOf((await signals.read({ after })).items)).toEqual(['d']);
  });

  it('FEED-2: goes on where a consumer had read all that was for it, also of what came behind', async () => {
    const syncline = database.engine();
    const { signals, consumers } = syncline.as({ tenantId: tenant, actor: 'test' });
    await consumers.move('name', 'latest');
    await store(['a', 'b']);
    await store(['not mine'], others);
    const abort = new AbortController();
    const feed = signals.feed({ consumer: 'name', signal: abort.signal });
    expect([(await feed.next()).value, (await feed.next()).value]).toMatchObject([
      { kind: 'a' },
      { kind: 'b' },
    ]);
    const over = feed.next();
    const { nextCursor: end } = await signals.read({ after: 'latest' });
    await until('it stands at the end', async () => (await consumers.get('name')).after === end);
    abort.abort();
    expect(await over).toEqual({ done: true, value: undefined });
    await deleteAll();
    await store(['d']);
    expect((await signals.feed({ consumer: 'name' }).next()).value).toMatchObject({ kind: 'd' });
  });
});

describe('a reader that begins at the beginning while old signals are deleted', () => {
  type Engine = ReturnType<typeof database.engine>;

  /** An engine with which something else happens before each of its statements of a kind. */
  const engineWith = (isMeant: (statement: string) => boolean, happens: () => Promise<unknown>) =>
    database.engine({
      ports: {
        ...systemPorts,
        query: async (statement, send) => {
          if (isMeant(statement)) await happens();
          return send();
        },
      },
    });

  const isLook = (statement: string) => statement.includes('pg_current_snapshot');
  const isPage = (statement: string) => statement.includes('WITH ORDINALITY');

  /** Two that are old and one that is not; the old ones are deleted when the returned function is called first. */
  async function oldAndKept(): Promise<() => Promise<void>> {
    await store(['old']);
    await store(['old']);
    await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
    await store(['kept']);
    let isDone = false;
    return async () => {
      if (isDone) return;
      isDone = true;
      await runJanitor(database, { retention: { signalsDays: 1 } });
      expect(await sql('SELECT kind FROM signals')).toEqual([{ kind: 'kept' }]);
    };
  }

  const firstOf = async (feed: AsyncGenerator<{ kind: string }>) => kindsOf([(await feed.next()).value]);

  describe.each([
    { when: 'before it looks', isMeant: isLook },
    { when: 'before it reads what it has seen', isMeant: isPage },
  ])('$when', ({ isMeant }) => {
    it.each([
      {
        how: 'by its name',
        read: async ({ signals }: Engine) => kindsOf((await signals.read({ after: 'beginning' })).items),
      },
      {
        how: 'as a consumer that nobody knows yet',
        read: async ({ signals }: Engine) => kindsOf((await signals.read({ consumer: 'new' })).items),
      },
      { how: 'for ever', read: ({ signals }: Engine) => firstOf(signals.feed()) },
      {
        how: 'for ever, as a new consumer',
        read: ({ signals }: Engine) => firstOf(signals.feed({ consumer: 'new' })),
      },
    ])('goes on with what is kept: $how', async ({ read }) => {
      const deleteOld = await oldAndKept();
      expect(await read(engineWith(isMeant, deleteOld))).toEqual(['kept']);
    });

    it('FEED-2: a consumer that stood there before is told that something is missing', async () => {
      const deleteOld = await oldAndKept();
      const syncline = engineWith(isMeant, deleteOld);
      await syncline.consumers.move('name', 'beginning');
      await expect(syncline.signals.feed({ consumer: 'name' }).next()).rejects.toMatchObject({
        code: 'EXPIRED',
      });
      await expect(syncline.signals.read({ consumer: 'name' })).rejects.toMatchObject({ code: 'EXPIRED' });
    });
  });

  it('gives up where the beginning moves on with every look', async () => {
    const { signals } = engineWith(isLook, () => sql('UPDATE feed_start SET position = position + 1'));
    await expect(signals.read({ after: 'beginning' })).rejects.toMatchObject({ code: 'EXPIRED' });
  });
});
