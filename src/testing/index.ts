/** `syncline/testing`: what a connector is tested with. */
export { type ContextOptions, memoryContext } from './context.ts';
export { type CrashReport, type CrashTestOptions, crashTest } from './crash.ts';
export {
  connectInMemory,
  type MemoryConnection,
  type MemoryOptions,
  type MemoryRun,
  type MemorySignal,
  type RunChoice,
} from './memory.ts';
