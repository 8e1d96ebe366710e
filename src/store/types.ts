import pg from 'pg';
import { parseStored } from '../values/stored-json.ts';

const { TIMESTAMPTZ, JSON: JSON_TEXT, JSONB } = pg.types.builtins;
/** Range of Date. */
const latestMs = 8.64e15;
const infinities: Readonly<Record<string, number>> = { '-infinity': -latestMs, infinity: latestMs };

/**
 * Other writers may store timestamps outside the range of Date (the driver returns numbers or invalid
 * Dates; clamped, they compare), and JSON nested too deep to traverse.
 */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const parse = pg.types.getTypeParser(oid, format) as (text: string) => unknown;
    if (oid === JSON_TEXT || oid === JSONB) return parseStored;
    return oid === TIMESTAMPTZ ? (text: string) => parseTimestamp(text, parse) : parse;
  },
};

function parseTimestamp(text: string, parse: (text: string) => unknown): Date {
  const infinityMs = infinities[text];
  if (infinityMs !== undefined) return new Date(infinityMs);
  const at = parse(text) as Date;
  // timestamptz ends 18,516 years after Date.
  return Number.isNaN(at.getTime()) ? new Date(latestMs) : at;
}
