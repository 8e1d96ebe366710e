/**
 * With statistics from before a large catch-up, the planner scanned a million connections to count none, and
 * merge-joined a batch with the primary key of all jobs.
 *
 * Statements join with `c.id = ANY (ARRAY[w.id])`, an index lookup per row. Plain equality lets the planner
 * start with a full scan of the index, as it did with statistics of an empty table.
 */
export const pinnedPlans = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_mergejoin: 'off',
  enable_hashjoin: 'off',
  jit: 'off',
};
