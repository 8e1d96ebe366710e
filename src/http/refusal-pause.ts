import { setTimeout as delay } from 'node:timers/promises';
import type { Problem } from './problem.ts';

/** Refusals that wait at a time; more are answered without a pause. */
const maxWaiting = 1000;

/**
 * Answers 429 and 503 for limits after a pause: clients that ask again as soon as they are refused would otherwise keep the event
 * loop busy with refusals.
 */
export function createRefusalPause(pauseMs: number): (problem: Problem) => Promise<void> {
  let waiting = 0;
  return async ({ code }) => {
    if (code !== 'TOO_MANY' || pauseMs === 0 || waiting >= maxWaiting) return;
    waiting++;
    await delay(pauseMs, undefined, { ref: false });
    waiting--;
  };
}
