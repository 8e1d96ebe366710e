import { setTimeout as delay } from 'node:timers/promises';
import type { Problem } from './problem.ts';

/** Further refusals are sent immediately. */
const maxWaiting = 1000;

/** Delays 429 and 503 for limits: clients that retry immediately would keep the event loop busy. */
export function createRefusalPause(pauseMs: number): (problem: Problem) => Promise<void> {
  let waiting = 0;
  return async ({ code }) => {
    if (code !== 'TOO_MANY' || pauseMs === 0 || waiting >= maxWaiting) return;
    waiting++;
    await delay(pauseMs, undefined, { ref: false });
    waiting--;
  };
}
