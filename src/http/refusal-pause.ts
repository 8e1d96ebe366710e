import { setTimeout as delay } from 'node:timers/promises';
import type { Problem } from './problem.ts';

/** Further refusals are not delayed. */
const maxWaiting = 1000;

/** Clients that retry immediately would keep the event loop busy. */
export function createRefusalPause(pauseMs: number): (problem: Problem) => Promise<void> {
  let waiting = 0;
  return async ({ code }) => {
    if (code !== 'TOO_MANY' || pauseMs === 0 || waiting >= maxWaiting) return;
    waiting++;
    await delay(pauseMs, undefined, { ref: false });
    waiting--;
  };
}
