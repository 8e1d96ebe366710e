/** A partial index needs its predicate in the statement. */
export const isPending = `status IN ('queued', 'running')`;
export const isEnded = `status IN ('succeeded', 'failed', 'cancelled', 'completed')`;
