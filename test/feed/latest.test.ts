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

/** Simulates a commit in progress: the position is assigned, the row is not yet visible. */
async function startCommit(kind: string): Promise<{ commit(): Promise<unknown> }> {
  const client = await session();
  await client.query('BEGIN');
  await client.query(insert, [tenant, connection, kind]);
  await client.query('SET CONSTRAINTS ALL IMMEDIATE');
  return { commit: () => client.query('COMMIT') };
}

/** Deletes as the janitor does. */
async function deleteAll(): Promise<void> {
  await sql('UPDATE feed_start SET position = (SELECT max(position) FROM feed)');
  await sql('DELETE FROM signals');
  await sql('DELETE FROM feed');
}

const nothing = async () => {};

describe('FEED-1: `latest` while a transaction commits', () => {
  it.each([
    { name: 'it has the last position', before: () => store('before'), after: nothing, seen: ['slow'] },
    {
      name: 'later positions are committed',
      before: () => store('before'),
      after: () => store('quick'),
      seen: ['slow', 'quick'],
    },
    { name: 'all others are deleted', before: deleteAll, after: nothing, seen: ['slow'] },
    {
      name: 'it is the first that is not deleted',
      before: deleteAll,
      after: () => store('quick'),
      seen: ['slow', 'quick'],
    },
  ])('FEED-1: `latest` is before that transaction: $name', async ({ before, after, seen }) => {
    const { signals, consumers } = engine();
    await store('old');
    await before();
    const slow = await startCommit('slow');
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

  it('FEED-1: `latest` is behind the last visible signal, also after skipped positions', async () => {
    const { signals } = engine();
    await store('before');
    const { nextCursor: before } = await signals.read({ after: 'latest' });
    await sql(`SELECT nextval('feed_position')`);
    await store('after');
    // Waits until no older transaction can still commit.
    const { items } = await signals.read({ after: before, waitMs: 20_000 });
    expect(items.map(({ kind }) => kind)).toEqual(['after']);
    await sql(`SELECT nextval('feed_position')`);
    expect(await signals.read({ after: 'latest' })).toEqual({ items: [], nextCursor: items[0]?.cursor });
  });

  it('FEED-1: `latest` ignores a pending position below the start of the feed', async () => {
    const { signals } = engine();
    await store('old');
    const slow = await startCommit('below the start');
    await store('at the start');
    await sql('UPDATE feed_start SET position = (SELECT max(position) FROM feed)');
    await store('last');
    expect((await signals.read({ after: 'latest' })).items).toEqual([]);
    await slow.commit();
  });
});
