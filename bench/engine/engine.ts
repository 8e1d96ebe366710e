import { type Child, startChild } from '../tools/child.ts';
import type { EngineApi } from './worker.ts';

export type EngineProcess = Child<EngineApi>;

export function startEngine(execArgv: string[] = []): EngineProcess {
  return startChild(new URL('worker.ts', import.meta.url), { execArgv });
}

/** Enough concurrency that provider latency does not limit the rate. */
export const executor = { concurrency: 400, claimBatch: 200 };
