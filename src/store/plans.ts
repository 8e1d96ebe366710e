/**
 * Every statement of the engine finds its rows through an index. A planner whose statistics are of before a large
 * catch-up thinks otherwise, and read all of a million connections to count none; so it is not asked. Neither for joins: it
 * merged a batch with the primary key of all jobs.
 */
export const pinnedPlans = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  enable_hashjoin: 'off',
  jit: 'off',
};

/**
 * `column = value` for a value of another table or list: each is looked up in the index of the column. A plain equality also lets
 * the planner begin with all of the table, in the order of that index, which it did where statistics took the table for empty.
 */
export const indexLookup = (column: string, value: string) => `${column} = ANY (ARRAY[${value}])`;
