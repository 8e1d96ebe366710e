import { isObject } from '../values/is-object.ts';

export interface Loss {
  /** End of the lease, ISO-8601. */
  at: string;
  process: string;
  host: string;
  pid: number;
}

/** A dying process loses all its jobs: one proves nothing. */
const suspectAfter = 2;
/** In a row; also the number kept. */
const failedAfter = 5;

export type Fate = 'requeued' | 'suspect' | 'failed';

/** EXE-9. */
export function afterLoss(stored: unknown, loss: Loss): { losses: Loss[]; fate: Fate } {
  const losses = [...readLosses(stored), loss].slice(-failedAfter);
  if (losses.length >= failedAfter) return { losses, fate: 'failed' };
  return { losses, fate: losses.length >= suspectAfter ? 'suspect' : 'requeued' };
}

export const isSuspect = (stored: unknown) => stored !== null && readLosses(stored).length >= suspectAfter;

/** Ignores invalid entries. */
export function readLosses(stored: unknown): Loss[] {
  return Array.isArray(stored) ? stored.filter(isLoss) : [];
}

function isLoss(value: unknown): value is Loss {
  return isObject(value) && typeof value['at'] === 'string' && typeof value['process'] === 'string';
}
