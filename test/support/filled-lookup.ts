import type { Lookup } from '../../src/store/lookup.ts';
import type { Tables } from '../../src/store/scope.ts';

/** Of a migrated schema, without a query for its version. */
export const filledLookup = (tables: Tables): Lookup => ({
  isFilled: async () => true,
  tables: async () => tables,
});
