/** Entry point of `syncline/testing`. */
export { type ContextOptions, memoryContext } from './context.ts';
export { type CrashProgress, type CrashTestOptions, crashTest } from './crash.ts';
export { type CrashProblem, type CrashReport, formatCrashReport } from './crash-report.ts';
export type { ConnectorSource } from './crash-round.ts';
export {
  connectInMemory,
  type MemoryConnection,
  type MemoryOptions,
  type MemoryRun,
  type MemorySignal,
  type RunChoice,
} from './memory.ts';
export { type RecordOptions, recordTraffic } from './record.ts';
export { type Replay, type ReplayOptions, replayTraffic } from './replay.ts';
