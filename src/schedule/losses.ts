import { isObject } from '../values/is-object.ts';

/** A process that died while it ran a job of a connection. */
export interface Loss {
  /** When its lease ended, as ISO-8601. */
  at: string;
  /** The id of its lease. */
  process: string;
  host: string;
  pid: number;
}

/**
 * One loss says nothing: a process that dies takes every job along that it runs. Two in a row are seldom chance, so from then on the
 * job waits, and a process runs one such job at a time.
 */
const suspectAfter = 2;
/** Losses in a row after which a job fails, and the number that is kept. */
const failedAfter = 5;

/** What becomes of a job whose process died. */
export type Fate = 'requeued' | 'suspect' | 'failed';

/** EXE-9: the losses of a connection and the fate of its job after one more loss. */
export function afterLoss(stored: unknown, loss: Loss): { losses: Loss[]; fate: Fate } {
  const losses = [...readLosses(stored), loss].slice(-failedAfter);
  if (losses.length >= failedAfter) return { losses, fate: 'failed' };
  return { losses, fate: losses.length >= suspectAfter ? 'suspect' : 'requeued' };
}

/** Whether the next run of the connection may kill its process. */
export const isSuspect = (stored: unknown) => stored !== null && readLosses(stored).length >= suspectAfter;

/** `connections.losses`; what another writer wrote there and cannot be read counts as absent. */
export function readLosses(stored: unknown): Loss[] {
  return Array.isArray(stored) ? stored.filter(isLoss) : [];
}

function isLoss(value: unknown): value is Loss {
  return isObject(value) && typeof value['at'] === 'string' && typeof value['process'] === 'string';
}
