/** The planner uses a partial index only if the statement repeats its predicate. */
export const isPending = `status IN ('queued', 'running')`;
export const isEnded = `status IN ('succeeded', 'failed', 'cancelled', 'completed')`;
