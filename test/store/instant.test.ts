import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant } from '../../src/values/instant.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

async function parsedByPostgres(values: string[]): Promise<(number | null)[]> {
  const rows = await database.sql<{ ms: number | null }>(
    `SELECT floor(extract(epoch FROM parse_instant(value)) * 1000)::float8 AS ms
     FROM unnest($1::text[]) WITH ORDINALITY AS v (value, n) ORDER BY n`,
    [values],
  );
  return rows.map((row) => row.ms);
}

const two = (n: number) => String(n).padStart(2, '0');
/** Text that resembles an instant and is often invalid: months to 19, days to 39, minutes to 69. */
const nearlyInstant = fc
  .tuple(
    fc.constantFrom('0000', '0001', '1900', '1970', '2000', '2024', '2025', '2100', '9999', '20255'),
    fc.nat(19),
    fc.nat(39),
    fc.nat(29),
    fc.nat(69),
    fc.nat(69),
    fc.constantFrom('', '.', '.0', '.123', '.123456', '.1234567', '.123456789', '.1234567890', ',5'),
    fc.constantFrom(
      '',
      'Z',
      'z',
      '+00:00',
      '-00:00',
      '+02:00',
      '-15:59',
      '+16:00',
      '+0200',
      '+02',
      '+02:60',
      ' UTC',
    ),
    fc.constantFrom('T', 't', ' '),
  )
  .map(
    ([year, month, day, h, m, s, fraction, offset, t]) =>
      `${year}-${two(month)}-${two(day)}${t}${two(h)}:${two(m)}:${two(s)}${fraction}${offset}`,
  );

describe('DB-4: parse_instant and its TypeScript equivalent', () => {
  it.each([
    ['2025-01-01T12:00:00Z', '2025-01-01T12:00:00.000Z'],
    ['2025-01-01T12:00:00.123456Z', '2025-01-01T12:00:00.123Z'],
    ['2025-01-01T12:00:00.123000789Z', '2025-01-01T12:00:00.123Z'],
    ['2025-01-01T12:00:00+02:00', '2025-01-01T10:00:00.000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
  ])('DB-2: both parse %s', async (text, expected) => {
    expect(new Date(parseInstant(text) as number).toISOString()).toBe(expected);
    expect(await parsedByPostgres([text])).toEqual([Date.parse(expected)]);
  });

  it.each([
    'yesterday',
    'now',
    'infinity',
    '-infinity',
    'epoch',
    '',
    '2025-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2025-13-01T00:00:00Z',
    '2025-01-01T24:00:00Z',
    '2025-01-01T23:59:60Z',
    '2025-01-01T12:00:00',
    '2025-01-01',
    '2025-01-01 12:00:00Z',
    '1735732800',
    '0000-01-01T00:00:00Z',
    '2025-01-01T12:00:00Z ',
    '2025-01-01T12:00:00Z\n',
    '٢٠٢٥-01-01T12:00:00Z',
    '2025-01-01T12:00:00.0000000000Z',
  ])('DB-3: both reject %j', async (text) => {
    expect(parseInstant(text)).toBeUndefined();
    expect(await parsedByPostgres([text])).toEqual([null]);
  });

  it('DB-3: both agree on every text and never throw', async () => {
    const values = fc
      .sample(fc.oneof({ weight: 4, arbitrary: nearlyInstant }, fc.string({ unit: 'binary' }), fc.string()), {
        numRuns: 20_000,
        seed: 42,
      })
      .map((value) => value.replaceAll('\0', ''));
    const byPostgres = await parsedByPostgres(values);
    const disagreed = values.filter((value, i) => (parseInstant(value) ?? null) !== byPostgres[i]);
    expect(disagreed).toEqual([]);
    expect(byPostgres.filter((ms) => ms !== null).length).toBeGreaterThan(100);
  });

  it('DB-4: the result does not depend on session settings', async () => {
    const values = ['2025-03-30T02:30:00Z', '2025-01-02T03:04:05+02:00', '01-02-2025'];
    const [plain, odd] = await Promise.all([
      parsedByPostgres(values),
      database.sql<{ ms: number | null }>(
        `WITH odd AS MATERIALIZED (SELECT set_config('timezone', 'America/St_Johns', true), set_config('datestyle', 'SQL, DMY', true))
         SELECT floor(extract(epoch FROM parse_instant(value)) * 1000)::float8 AS ms
         FROM odd, unnest($1::text[]) WITH ORDINALITY AS v (value, n) ORDER BY n`,
        [values],
      ),
    ]);
    expect(odd.map((row) => row.ms)).toEqual(plain);
  });
});
