import { expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';

const { connect, engine, session } = useDatabase();

const insert = `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
  VALUES ($1, 'github', $2, $3, now(), '{}')`;

it('FEED-1: is waited for also when no transaction that began after it has ended', async () => {
  const { signals } = engine();
  const connection = await connect();
  let { nextCursor } = await signals.read({ after: 'latest' });
  const seen: string[] = [];
  const readThrice = async () => {
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
  // As in the midst of its commit: its position is given, and it is not there yet.
  await last.query('SET CONSTRAINTS ALL IMMEDIATE');
  await first.query('COMMIT');
  await readThrice();
  expect(seen).toEqual([]);
  await last.query('COMMIT');
  await readThrice();
  expect(seen).toEqual(['began last', 'began first']);
});
