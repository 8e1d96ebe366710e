import type { Ports } from '../ports.ts';
import type { Database } from '../store/database.ts';
import { deleteProcess, lockExpired, requeueJobs } from '../store/processes.ts';
import { wakeExecutors } from '../store/wake.ts';

/** Few enough that a large process is put back in short transactions. */
const batchSize = 1000;

/** EXE-9: puts the jobs of a process whose lease has run out back in the queue, no attempt charged; returns how many. */
export async function reap(
  { db, ports }: { db: Database; ports: Ports },
  processId: string,
  timeoutMs?: number,
): Promise<number> {
  let total = 0;
  for (;;) {
    const requeued = await db.transaction(
      async (tx) => {
        if (!(await lockExpired(tx, ports.leaseTime(), processId))) return 0;
        const count = await requeueJobs(tx, new Date(ports.now()), { processId }, batchSize);
        if (count > 0) await wakeExecutors(tx);
        if (count < batchSize) await deleteProcess(tx, processId);
        return count;
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
    total += requeued;
    if (requeued < batchSize) return total;
  }
}

/**
 * Puts back jobs that nobody runs: those of a claim whose answer never came, or of a process whose row is gone. Returns how
 * many.
 */
export function returnJobs(
  { db, ports }: { db: Database; ports: Ports },
  of: { processId: string; claimId?: string },
): Promise<number> {
  return db.transaction(async (tx) => {
    const count = await requeueJobs(tx, new Date(ports.now()), of, batchSize);
    if (count > 0) await wakeExecutors(tx);
    return count;
  });
}
