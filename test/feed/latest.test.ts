import { beforeEach, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';

const { sql, connect, empty, engine, session } = useDatabase();

let connection: string;
beforeEach(async () => {
  await empty();
  connection = await connect();
});

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  VALUES ($1, 'github', $2, $3, now(), '{}')`;
const store = (kind: string) => sql(insert, [tenant, connection, kind]);

/** As in the midst of its commit: its position is given, and it is not there yet. */
async function committing(kind: string): Promise<{ commit(): Promise<unknown> }> {
  const client = await session();
  await client.query('BEGIN');
  await client.query(insert, [tenant, connection, kind]);
  await client.query('SET CONSTRAINTS ALL IMMEDIATE');
  return { commit: () => client.query('COMMIT') };
}

/** As the janitor does with what is old. */
async function deleteAll(): Promise<void> {
  await sql('UPDATE feed_start SET position = (SELECT max(position) FROM feed)');
  await sql('DELETE FROM signals');
  await sql('DELETE FROM feed');
}

const nothing = async () => {};

describe('the place behind everything, asked for while a transaction commits', () => {
  it.each([
    { name: 'last', before: () => store('before'), after: nothing, seen: ['slow'] },
    {
      name: 'and others that came after it have',
      before: () => store('before'),
      after: () => store('quick'),
      seen: ['slow', 'quick'],
    },
    { name: 'where all else was deleted', before: deleteAll, after: nothing, seen: ['slow'] },
    {
      name: 'first of all that was not deleted',
      before: deleteAll,
      after: () => store('quick'),
      seen: ['slow', 'quick'],
    },
  ])('FEED-1: lies before that one: $name', async ({ before, after, seen }) => {
    const { signals, consumers } = engine();
    await store('old');
    await before();
    const slow = await committing('slow');
    await after();
    const { items, nextCursor } = await signals.read({ after: 'latest' });
    expect(items).toEqual([]);
    await consumers.move('name', 'latest');
    await slow.commit();
    for (const from of [{ after: nextCursor }, { consumer: 'name' }]) {
      const page = await signals.read({ ...from, waitMs: 20_000 });
      expect(page.items.map(({ kind }) => kind)).toEqual(seen);
    }
  });

  it('is behind all that can be seen, also where a commit failed or Postgres skipped positions', async () => {
    const { signals } = engine();
    await store('before');
    const { nextCursor: before } = await signals.read({ after: 'latest' });
    await sql(`SELECT nextval('feed_position')`);
    await store('after');
    // Waits until nobody can come any more who had begun.
    const { items } = await signals.read({ after: before, waitMs: 20_000 });
    expect(items.map(({ kind }) => kind)).toEqual(['after']);
    await sql(`SELECT nextval('feed_position')`);
    expect(await signals.read({ after: 'latest' })).toEqual({ items: [], nextCursor: items[0]?.cursor });
  });

  it('is behind all that can be seen, also while a position below the start of the feed may still come', async () => {
    const { signals } = engine();
    await store('old');
    const slow = await committing('below the start');
    await store('at the start');
    await sql('UPDATE feed_start SET position = (SELECT max(position) FROM feed)');
    await store('last');
    expect((await signals.read({ after: 'latest' })).items).toEqual([]);
    await slow.commit();
  });
});
