import type { Ports } from '../platform/ports.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { refreshLockTimeoutMs } from './refresh.ts';

/** A longer lock is a token refresh. */
export const briefLockMs = 200;
const pauseMs = 1000;

/** For as long as a refresh may hold the row. Sleeps without a connection, to spare the pool. */
export async function retryLockTimeouts<T>(
  ports: Pick<Ports, 'sleep' | 'random'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += pauseMs)
    try {
      return await attempt();
    } catch (error) {
      if (!isLockTimeout(error) || waitedMs >= refreshLockTimeoutMs) throw error;
      // Callers may have started together.
      await ports.sleep(pauseMs * (0.5 + ports.random()), new AbortController().signal);
    }
}
