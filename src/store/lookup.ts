import type { Queryable } from './database.ts';
import { appliedVersion } from './schema-version.ts';
import type { Tables } from './scope.ts';

/** Fills connection_lookup. */
const filledVersion = 15;

type IsFilled = (db: Queryable) => Promise<boolean>;

export interface Lookup {
  isFilled: IsFilled;
  /** On the previous schema, lists read connections. */
  tables(db: Queryable): Promise<Tables>;
}

/** Reads the version per list until the table is filled: the process may be older than the migration. */
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
