import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

const folder = new URL('../../src/store/migrations/', import.meta.url);
const migrations = readdirSync(folder).sort();

/** A session in a schema with all migrations before `version`. */
async function migratedBefore(version: string) {
  const client = await database.session();
  await client.query('CREATE SCHEMA earlier');
  await client.query('SET search_path TO earlier, pg_temp');
  for (const file of migrations.filter((name) => name < version))
    await client.query(readFileSync(new URL(file, folder), 'utf8'));
  return client;
}

it('FEED-4: batches stored by an earlier release while the sequence was behind move to the end of the feed, in order', async () => {
  const client = await migratedBefore('0008');
  const enter = (batch: string, position: number, at: string) =>
    client.query(`INSERT INTO feed (batch, position, created_at) VALUES (lpad($1, 32, '0')::uuid, $2, $3)`, [
      batch,
      position,
      at,
    ]);
  await client.query('DELETE FROM feed');
  // Positions 2 and 4 never committed; the sequence was lost after 6 and returned them again.
  for (const position of [1, 3, 5, 6]) await enter(String(position), position, `2025-01-0${position}`);
  await enter('a2', 2, '2025-02-01');
  await enter('a4', 4, '2025-02-02');
  await client.query(`SELECT setval('feed_position', 4)`);
  await client.query(readFileSync(new URL('0008_feed_epoch.sql', folder), 'utf8'));
  const { rows } = await client.query<{ batch: string; position: number }>(
    `SELECT ltrim(replace(batch::text, '-', ''), '0') AS batch, position::int FROM feed ORDER BY position`,
  );
  expect(rows.map(({ batch, position }) => [batch, position])).toEqual([
    ['1', 1],
    ['3', 3],
    ['5', 5],
    ['6', 6],
    ['a2', 7],
    ['a4', 8],
  ]);
  expect((await client.query('SELECT epoch FROM feed_start')).rows).toEqual([{ epoch: 2 }]);
});
