/**
 * With statistics from before a catch-up, the planner scanned a million connections to count none, and
 * merge-joined a batch with all jobs. `c.id = ANY (ARRAY[w.id])` is one index lookup per row: with `=` and
 * statistics of an empty table, it scanned the whole index.
 */
export const pinnedPlans = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  enable_hashjoin: 'off',
  jit: 'off',
};
