import pg from 'pg';
import { parseStored } from '../values/stored-json.ts';

const { TIMESTAMPTZ, JSON: JSON_TEXT, JSONB } = pg.types.builtins;
/** The first and the last moment that a Date can be. */
const latestMs = 8.64e15;
const extremes: Readonly<Record<string, number>> = { '-infinity': -latestMs, infinity: latestMs };

/**
 * Postgres knows times that JavaScript does not, and JSON that it cannot walk through, and anybody may write them. As Dates those
 * sort and compare like all others; the driver would make them numbers, or Dates that are none, which no code expects.
 */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const usual = pg.types.getTypeParser(oid, format) as (text: string) => unknown;
    if (oid === JSON_TEXT || oid === JSONB) return parseStored;
    return oid === TIMESTAMPTZ ? (text: string) => instant(text, usual) : usual;
  },
};

function instant(text: string, usual: (text: string) => unknown): Date {
  const extreme = extremes[text];
  if (extreme !== undefined) return new Date(extreme);
  const at = usual(text) as Date;
  // Postgres goes on for 18,516 years after the last moment of a Date.
  return Number.isNaN(at.getTime()) ? new Date(latestMs) : at;
}
