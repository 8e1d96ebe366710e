import type { Database, Transaction } from '../store/database.ts';
import {
  deleteProcess,
  type ExpiredProcess,
  forgiveProcess,
  lockExpired,
  lockLost,
} from '../store/processes.ts';
import { wakeExecutors } from '../store/wake.ts';
import type { ExecutorContext } from './claim.ts';
import { requeueLost, type SuspectJob, settleDead } from './lost-jobs.ts';

type Context = Pick<ExecutorContext, 'db' | 'ports' | 'rateLimit'>;

/** Bounds the transaction's duration. */
const batchSize = 1000;

export interface Reaped {
  /** Jobs requeued or failed. */
  count: number;
  suspects: SuspectJob[];
}

/** EXE-9: in batches, the process row last: if a batch fails, the next heartbeat finds the process again. */
export async function reap(context: Context, processId: string, timeoutMs?: number): Promise<Reaped> {
  const { db } = context;
  const reaped: Reaped = { count: 0, suspects: [] };
  for (;;) {
    const { count, suspects } = await db.transaction(
      async (tx) => {
        const process = await lockExpired(tx, processId);
        if (!process) return { count: 0, suspects: [] };
        const batch = await requeueBatch(context, tx, processId, process);
        if (batch.count > 0) await wakeExecutors(tx);
        if (batch.count < batchSize) await deleteProcess(tx, processId);
        return batch;
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
    reaped.count += count;
    reaped.suspects.push(...suspects);
    if (count < batchSize) return reaped;
  }
}

async function requeueBatch(
  context: Context,
  tx: Transaction,
  processId: string,
  { released, expires_at, host, pid }: ExpiredProcess,
): Promise<Reaped> {
  const { now } = tx;
  const lost = await lockLost(tx, { processId }, batchSize);
  if (lost.length === 0) return { count: 0, suspects: [] };
  const loss = { at: expires_at.toISOString(), process: processId, host, pid };
  const suspects = released ? [] : await settleDead(context, tx, now, { lost, loss });
  if (released) await requeueLost(tx, now, lost);
  return { count: lost.length, suspects };
}

/** For an unacknowledged claim or a missing process row. */
export function returnJobs(
  { db }: Pick<Context, 'db'>,
  claimKey: { processId: string; claimId?: string },
): Promise<number> {
  return db.transaction(async (tx) => {
    const lost = await lockLost(tx, claimKey, batchSize);
    if (lost.length === 0) return 0;
    await requeueLost(tx, tx.now, lost);
    await wakeExecutors(tx);
    return lost.length;
  });
}

/** EXE-9: the process is alive. */
export async function forgive(db: Database, processId: string, timeoutMs: number): Promise<void> {
  await db.transaction((tx) => forgiveProcess(tx, processId), { timeoutMs });
}
