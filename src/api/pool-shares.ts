import { SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { createSemaphore, type Semaphore, sharesOfPool } from '../platform/semaphore.ts';
import type { Database } from '../store/database.ts';
import { gated } from '../store/gated.ts';

export interface PoolShares {
  /** Connections are shared fairly between holders. */
  apiDb(holder: string): Database;
  deliveries: { gate: Semaphore; maxHeld: number };
}

const maxApiWaitMs = 10_000;

/** Leaves connections to runs and deliveries. */
export function sharePool(
  db: Database,
  { poolSize, ports, isRunning }: { poolSize: number; ports: Ports; isRunning: () => boolean },
): PoolShares {
  const shares = sharesOfPool(poolSize);
  // Without running roles, only deliveries need connections.
  const apiGate = createSemaphore(() => (isRunning() ? shares.api : poolSize - shares.deliveries), {
    fair: true,
    maxWait: { ms: maxApiWaitMs, ports },
    refusal: noConnectionFree,
  });
  // API and deliveries share one of two connections.
  const gate = poolSize < 3 ? apiGate : createSemaphore(shares.deliveries);
  return {
    apiDb: (holder) => gated(db, (work) => apiGate.run(work, holder)),
    deliveries: { gate, maxHeld: Math.max(1, shares.deliveries - 1) },
  };
}

function noConnectionFree(): SynclineError {
  return new SynclineError(
    'OVERLOADED',
    `No database connection was free for the API within ${maxApiWaitMs / 1000} s.`,
    { hint: 'Raise database.poolSize, or look for statements that wait for a lock (`syncline doctor`).' },
  );
}
