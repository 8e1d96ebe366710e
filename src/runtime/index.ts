export { createDeleter } from './deleter.ts';
export { deleteBatch, deletionBatch, deletionOf, errorForTenants } from './deletion.ts';
export { createEngine, type DrainResult, type Engine, type Role, roles } from './engine.ts';
export type { WorkTotals } from './executor.ts';
export { type Deletion, deletionJson } from './model.ts';
