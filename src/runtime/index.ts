export { createDeleter } from './deleter.ts';
export { type Deletion, deleteBatch, deletionBatch, deletionOf, errorForTenants } from './deletion.ts';
export { type Executor, startExecutor, type WorkTotals } from './executor.ts';
export { watchFailures } from './failure-watch.ts';
export { startJanitor } from './janitor.ts';
export { startScheduler } from './scheduler.ts';
