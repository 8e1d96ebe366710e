import { expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';

const { connect, engine, session } = useDatabase();

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  VALUES ($1, 'github', $2, $3, now(), '{}')`;

it('FEED-1: a reader waits for the youngest transaction while it commits', async () => {
  const { signals } = engine();
  const connection = await connect();
  let { nextCursor } = await signals.read({ after: 'latest' });
  const seen: string[] = [];
  const readThreeTimes = async () => {
    for (let i = 0; i < 3; i++) {
      const page = await signals.read({ after: nextCursor });
      seen.push(...page.items.map(({ kind }) => kind));
      nextCursor = page.nextCursor;
    }
  };
  const [first, last] = [await session(), await session()];
  for (const [client, kind] of [
    [first, 'began first'],
    [last, 'began last'],
  ] as const) {
    await client.query('BEGIN');
    await client.query(insert, [tenant, connection, kind]);
  }
  // Simulates a commit in progress: the position is assigned, the row is not yet visible.
  await last.query('SET CONSTRAINTS ALL IMMEDIATE');
  await first.query('COMMIT');
  await readThreeTimes();
  expect(seen).toEqual([]);
  await last.query('COMMIT');
  await readThreeTimes();
  expect(seen).toEqual(['began last', 'began first']);
});
