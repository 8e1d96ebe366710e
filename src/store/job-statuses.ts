/** Predicates of partial indexes: a statement repeats one literally, or the planner cannot use the index. */
export const isPending = `status IN ('queued', 'running')`;
export const isEnded = `status IN ('succeeded', 'failed', 'cancelled', 'completed')`;
