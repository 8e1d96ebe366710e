import type { Ports } from '../platform/ports.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { lockPatienceMs } from './refresh.ts';

/** Others hold a row for milliseconds; whoever holds it for longer is renewing a credential. */
export const briefLockMs = 200;
const pauseMs = 1000;

/**
 * Waits for somebody who renews a credential as long as that may take, and without a database connection: the few that a
 * process has would soon all be waiting, and nothing else be done. `attempt` waits for locks no longer than `briefLockMs`.
 */
export async function patiently<T>(
  ports: Pick<Ports, 'sleep' | 'random'>,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += pauseMs)
    try {
      return await attempt();
    } catch (error) {
      if (!isLockTimeout(error) || waitedMs >= lockPatienceMs) throw error;
      // Those who came together do not come back together.
      await ports.sleep(pauseMs * (0.5 + ports.random()), new AbortController().signal);
    }
}
