import type { Queryable } from './database.ts';
import { appliedVersion } from './schema-version.ts';
import type { Tables } from './scope.ts';

/** This migration fills connection_lookup. */
const filledVersion = 15;

type IsFilled = (db: Queryable) => Promise<boolean>;

export interface Lookup {
  isFilled: IsFilled;
  /** On the previous schema, lists read connections instead. */
  tables(db: Queryable): Promise<Tables>;
}

/**
 * Reads the version once per list until the table is filled: a process started before the migration
 * notices it. Versions never decrease.
 */
export function createLookupState(): IsFilled {
  let isFilled = false;
  return async (db) => {
    isFilled ||= (await appliedVersion(db)) >= filledVersion;
    return isFilled;
  };
}

export const lookupOf = (isFilled: IsFilled, filled: Tables, unfilled: Tables): Lookup => ({
  isFilled,
  tables: async (db) => ((await isFilled(db)) ? filled : unfilled),
});
