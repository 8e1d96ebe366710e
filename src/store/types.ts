import pg from 'pg';

const { TIMESTAMPTZ } = pg.types.builtins;
/** The first and the last moment that a Date can be. */
const extremes: Record<string, number> = { '-infinity': -8.64e15, infinity: 8.64e15 };

/**
 * Postgres knows times that JavaScript does not, and anybody may write them. As Dates they sort and compare like all
 * others; the driver would make them numbers, which no code expects.
 */
export const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    const usual = pg.types.getTypeParser(oid, format) as (text: string) => unknown;
    if (oid !== TIMESTAMPTZ) return usual;
    return (text: string) => (text in extremes ? new Date(extremes[text] as number) : usual(text));
  },
};
