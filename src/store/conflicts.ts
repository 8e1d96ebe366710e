import type { Ports } from '../platform/ports.ts';
import { never, retry } from '../platform/retry.ts';
import { isConflict } from './database-errors.ts';

/** More in a row have another cause. */
const maxTries = 6;
const pauseMs = (failures: number, random: number) => 5 * 2 ** failures * (0.5 + random / 2);

/** For serialization failures and deadlocks. Jitter avoids another collision. */
export function retryConflicts<T>(
  ports: Pick<Ports, 'sleep' | 'random'>,
  work: () => Promise<T>,
): Promise<T> {
  return retry(work, {
    ports,
    attempts: maxTries,
    shouldRetry: isConflict,
    delayMs: pauseMs,
    signal: never,
  });
}
