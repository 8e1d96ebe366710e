import type { Ports } from '../platform/ports.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { refreshLockTimeoutMs } from './refresh.ts';

/** Other transactions hold the row for milliseconds; a longer lock is a token refresh. */
export const briefLockMs = 200;
const pauseMs = 1000;

/**
 * Retries `attempt`, which waits at most `briefLockMs`, for as long as a token refresh may hold the row.
 * Sleeping without a database connection keeps the pool from being exhausted.
 */
export async function retryLockTimeouts<T>(
  ports: Pick<Ports, 'sleep' | 'random'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += pauseMs)
    try {
      return await attempt();
    } catch (error) {
      if (!isLockTimeout(error) || waitedMs >= refreshLockTimeoutMs) throw error;
      // Jitter spreads callers that started together.
      await ports.sleep(pauseMs * (0.5 + ports.random()), new AbortController().signal);
    }
}
