import fc from 'fast-check';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { arrayText } from '../../src/store/arrays.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();

/** Any text that Postgres can store. */
const text = fc.string({ unit: 'binary' }).map((value) => Buffer.from(value).toString().replaceAll('\0', ''));
const unsupportedEscape = /\\u(0000|d[89a-f])/i;
const awkward = [
  '',
  ' ',
  'NULL',
  'null',
  '{}',
  '{a,b}',
  'a,b',
  '"',
  '\\',
  '\\"',
  "'",
  '0x',
  '1e5',
  '-',
  '\n\t',
  '\\n',
  '\x01\x7f\x9f',
  '\u2028',
  '😀',
  '0 ',
];

describe('array parameters', () => {
  it('arrays: lists of texts, JSON, times, numbers and booleans round-trip', async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      const roundTrip = async (list: unknown[], type: string) => {
        const { rows } = await client.query<{ back: unknown[] }>(`SELECT $1::${type}[] AS back`, [
          arrayText(list),
        ]);
        return rows[0]?.back;
      };
      const lists = fc.array(fc.oneof(text, fc.constantFrom(...awkward), fc.uuid(), fc.constant(null)));
      await fc.assert(
        fc.asyncProperty(lists, async (list) => {
          expect(await roundTrip(list, 'text')).toEqual(list);
        }),
      );
      const json = fc.array(fc.json().filter((value) => !unsupportedEscape.test(value)));
      await fc.assert(
        fc.asyncProperty(json, async (list) => {
          expect(await roundTrip(list, 'json')).toEqual(list.map((item) => JSON.parse(item)));
        }),
      );
      const times = fc.array(
        fc.date({ noInvalidDate: true, min: new Date('0002-01-01'), max: new Date('9998-01-01') }),
      );
      await fc.assert(
        fc.asyncProperty(times, async (list) => {
          expect(await roundTrip(list, 'timestamptz')).toEqual(list);
        }),
      );
      const numbers = [1, -2, 0.5, null, 1e300, -1e-300, 2 ** 53];
      expect(await roundTrip(numbers, 'float8')).toEqual(numbers);
      expect(await roundTrip([], 'text')).toEqual([]);
      expect(await roundTrip([true, false, null], 'boolean')).toEqual([true, false, null]);
    } finally {
      await client.end();
    }
  });

  it.each([
    ['bytes', [Buffer.from('a')]],
    ['objects', [{ a: 1 }]],
    ['nested lists', [['a']]],
    ['years of five digits', [new Date('+012345-01-01')]],
    ['invalid dates', [new Date(Number.NaN)]],
    ['numbers that JSON does not have', [1, Number.NaN]],
    ['texts with control characters', ['a', '\n']],
    ['lone surrogates', ['a', '\ud800']],
  ])('arrays: %s are left to the driver', (_what, list) => {
    expect(arrayText(list)).toBe(list);
  });
});
