import { setMaxListeners } from 'node:events';
import type { Ports } from '../platform/ports.ts';
import type { Problem } from './problem.ts';

/** Further refusals are not delayed. */
const maxWaiting = 1000;

/** Delays 429 and 503: immediate retries would keep the event loop busy. */
export function createRefusalPause(
  pauseMs: number,
  ports: Pick<Ports, 'sleep'>,
  signal: AbortSignal,
): (problem: Problem) => Promise<void> {
  // Node warns above ten listeners.
  const ending = AbortSignal.any([signal]);
  setMaxListeners(maxWaiting, ending);
  let waiting = 0;
  return async ({ code }) => {
    if (code !== 'TOO_MANY' || pauseMs === 0 || waiting >= maxWaiting) return;
    waiting++;
    await ports.sleep(pauseMs, ending, { ref: false });
    waiting--;
  };
}
