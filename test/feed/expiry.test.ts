import { beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/platform/ports.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { runJanitor } from '../support/janitor.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, connect } = database;
const otherTenant = '00000000-0000-4000-8000-000000000002';

let connection: string;
beforeEach(async () => {
  await database.empty();
  await sql('DELETE FROM consumers');
  await sql(`INSERT INTO tenants (id, name) VALUES ($1, 'others') ON CONFLICT DO NOTHING`, [otherTenant]);
  connection = await connect();
});

/** Stores signals of these kinds in one transaction, with ascending ids. */
const store = (kinds: string[], tenantId = tenant) =>
  sql(
    `INSERT INTO signals (id, tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT lpad(n::text, 32, '0')::uuid, $1, 'github', $2, kind, now(), '{}'
     FROM (SELECT kind, row_number() OVER () + (SELECT count(*) FROM signals) AS n FROM unnest($3::text[]) AS kind) new`,
    [tenantId, connection, kinds],
  );

async function deleteAll(): Promise<void> {
  await sql(`UPDATE feed SET created_at = '2024-12-01T00:00:00Z'`);
  await runJanitor(database, { retention: { signalsDays: 1 } });
  expect(await sql('SELECT FROM signals')).toEqual([]);
}

const kindsOf = (items: { kind: string }[]) => items.map(({ kind }) => kind);

describe('a feed reader within the last deleted batch', () => {
  it('FEED-1: gets EXPIRED if it had not read all of the batch', async () => {
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

  it('FEED-1: continues if it had read all of the batch, from any of its cursors', async () => {
    const { signals } = database.engine();
    const { nextCursor: start } = await signals.read({ after: 'latest' });
    await store(['a', 'b']);
    const wholePage = await signals.read({ after: start, limit: 2 });
    const shortPage = await signals.read({ after: start, limit: 3 });
    const firstOfTwo = await signals.read({ after: start, limit: 1 });
    const secondOfTwo = await signals.read({ after: firstOfTwo.nextCursor, limit: 1 });
    // Filtered by kind, with other signals of the same transaction behind them.
    const filtered = await signals.read({ after: start, kind: 'a', limit: 1 });
    await deleteAll();
    await store(['d']);
    for (const { items, nextCursor } of [wholePage, shortPage, secondOfTwo, filtered])
      for (const after of [items.at(-1)?.cursor, nextCursor])
        expect(kindsOf((await signals.read({ after })).items)).toEqual(['d']);
  });

  it('FEED-2: a consumer that had read all its signals continues behind those of others', async () => {
    const syncline = database.engine();
    const { signals, consumers } = syncline.as({ tenantId: tenant, actor: 'test' });
    await consumers.move('name', 'latest');
    await store(['a', 'b']);
    await store(['not mine'], otherTenant);
    const abort = new AbortController();
    const feed = signals.feed({ consumer: 'name', signal: abort.signal });
    expect([(await feed.next()).value, (await feed.next()).value]).toMatchObject([
      { kind: 'a' },
      { kind: 'b' },
    ]);
    const ended = feed.next();
    const { nextCursor: end } = await signals.read({ after: 'latest' });
    await until('its position is the end', async () => (await consumers.get('name')).after === end);
    abort.abort();
    expect(await ended).toEqual({ done: true, value: undefined });
    await deleteAll();
    await store(['d']);
    expect((await signals.feed({ consumer: 'name' }).next()).value).toMatchObject({ kind: 'd' });
  });
});

describe('a reader from `beginning` while old signals are deleted', () => {
  type Engine = ReturnType<typeof database.engine>;

  /** An engine that awaits `action` before each matching statement. */
  const engineWithHook = (matches: (statement: string) => boolean, action: () => Promise<unknown>) =>
    database.engine({
      ports: {
        ...systemPorts,
        query: async (statement, send) => {
          if (matches(statement)) await action();
          return send();
        },
      },
    });

  const isPositionQuery = (statement: string) => statement.includes('pg_current_snapshot');
  const isPageQuery = (statement: string) => statement.includes('WITH ORDINALITY');

  /** Stores two old signals and a new one; the returned function deletes the old ones once. */
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
    { when: 'before its position query', matches: isPositionQuery },
    { when: 'before its page query', matches: isPageQuery },
  ])('$when', ({ matches }) => {
    it.each([
      {
        how: 'read',
        read: async ({ signals }: Engine) => kindsOf((await signals.read({ after: 'beginning' })).items),
      },
      {
        how: 'read as a new consumer',
        read: async ({ signals }: Engine) => kindsOf((await signals.read({ consumer: 'new' })).items),
      },
      { how: 'feed', read: ({ signals }: Engine) => firstOf(signals.feed()) },
      {
        how: 'feed as a new consumer',
        read: ({ signals }: Engine) => firstOf(signals.feed({ consumer: 'new' })),
      },
    ])('FEED-1: continues with the remaining signals: $how', async ({ read }) => {
      const deleteOld = await oldAndKept();
      expect(await read(engineWithHook(matches, deleteOld))).toEqual(['kept']);
    });

    it('FEED-2: an existing consumer at `beginning` gets EXPIRED', async () => {
      const deleteOld = await oldAndKept();
      const syncline = engineWithHook(matches, deleteOld);
      await syncline.consumers.move('name', 'beginning');
      await expect(syncline.signals.feed({ consumer: 'name' }).next()).rejects.toMatchObject({
        code: 'EXPIRED',
      });
      await expect(syncline.signals.read({ consumer: 'name' })).rejects.toMatchObject({ code: 'EXPIRED' });
    });
  });

  it('FEED-1: returns EXPIRED when the start moves at every query', async () => {
    const { signals } = engineWithHook(isPositionQuery, () =>
      sql('UPDATE feed_start SET position = position + 1'),
    );
    await expect(signals.read({ after: 'beginning' })).rejects.toMatchObject({ code: 'EXPIRED' });
  });
});
