import { type Child, startChild } from '../tools/child.ts';
import type { EngineCommand, EngineReport } from './worker.ts';

export type EngineProcess = Child<EngineCommand, EngineReport>;

export function startEngine(execArgv: string[] = []): EngineProcess {
  return startChild(new URL('worker.ts', import.meta.url), { execArgv });
}

/** Enough concurrency that provider latency does not limit the rate. */
export const executor = { concurrency: 400, claimBatch: 200 };
