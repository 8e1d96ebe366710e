import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { types } from '../../src/store/types.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
let client: pg.Client;

beforeAll(async () => {
  client = new pg.Client({ connectionString: database.url, types });
  await client.connect();
  await client.query(`SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'`);
});
afterAll(() => client.end());

async function parsed(texts: readonly string[]): Promise<Date[]> {
  const { rows } = await client.query<{ at: Date }>(
    'SELECT t::timestamptz AS at FROM unnest($1::text[]) WITH ORDINALITY AS v (t, n) ORDER BY n',
    [texts],
  );
  return rows.map(({ at }) => at);
}

describe('DB-5: timestamps', () => {
  it('DB-5: every millisecond and microsecond is read as the millisecond that contains it', async () => {
    const ms = Array.from({ length: 1000 }, (_, i) => `2026-11-18T07:42:59.${String(i).padStart(3, '0')}`);
    const expected = ms.map((text) => new Date(`${text}Z`));
    expect(await parsed(ms.map((text) => `${text}Z`))).toEqual(expected);
    expect(await parsed(ms.map((text) => `${text}999Z`))).toEqual(expected);
  });

  it.each([
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
    ['2024-02-29T23:59:59.5Z', '2024-02-29T23:59:59.500Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59.000Z'],
    ['1000-01-01T00:00:00Z', '1000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['12345-01-01T00:00:00Z', '+012345-01-01T00:00:00.000Z'],
    ['2026-01-01 00:00:00+00 BC', '-002025-01-01T00:00:00.000Z'],
    ['infinity', '+275760-09-13T00:00:00.000Z'],
    ['-infinity', '-271821-04-20T00:00:00.000Z'],
    ['294276-01-01T00:00:00Z', '+275760-09-13T00:00:00.000Z'],
  ])('DB-5: %s is read as %s', async (text, expected) => {
    expect((await parsed([text])).map((at) => at.toISOString())).toEqual([expected]);
  });

  it('DB-5: a session in another time zone returns the same instant', async () => {
    await client.query(`SET TimeZone = 'Asia/Kolkata'`);
    const [at] = await parsed(['2026-11-18T07:42:59.123Z']);
    await client.query(`SET TimeZone = 'UTC'`);
    expect(at?.toISOString()).toBe('2026-11-18T07:42:59.123Z');
  });
});
