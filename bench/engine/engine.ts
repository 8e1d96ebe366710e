import { type Child, startChild } from '../tools/child.ts';
import type { EngineOrder, EngineReport } from './worker.ts';

export type EngineProcess = Child<EngineOrder, EngineReport>;

export function startEngine(): EngineProcess {
  return startChild(new URL('worker.ts', import.meta.url));
}
