import type { Queryable } from './database.ts';
import { appliedVersion } from './schema-version.ts';
import type { Tables } from './scope.ts';

/** The migration that copies the connections to connection_lookup. */
const filledVersion = 15;

type IsFilled = (db: Queryable) => Promise<boolean>;

export interface Lookup {
  isFilled: IsFilled;
  /** On the previous release's schema, lists read connections instead of connection_lookup. */
  tables(db: Queryable): Promise<Tables>;
}

/**
 * Reads the version until the table is filled, once per list: a process that started before the migration
 * uses the table from then on. A version never goes back.
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
