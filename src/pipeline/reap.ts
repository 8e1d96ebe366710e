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
import { type PoisonJob, requeueLost, settleDead } from './lost.ts';

type Context = Pick<ExecutorContext, 'db' | 'ports' | 'rateLimit'>;

/** Few enough that a large process is put back in short transactions. */
const batchSize = 1000;

export interface Reaped {
  /** Jobs that are queued again, or have failed. */
  count: number;
  /** Those that died with their process several times in a row. */
  poison: PoisonJob[];
}

/**
 * EXE-9: takes the jobs of a process whose lease has run out from it. They are queued again, no attempt charged, except those whose
 * processes keep dying.
 */
export async function reap(context: Context, processId: string, timeoutMs?: number): Promise<Reaped> {
  const { db } = context;
  const reaped: Reaped = { count: 0, poison: [] };
  for (;;) {
    const { count, poison } = await db.transaction(
      async (tx) => {
        const process = await lockExpired(tx, processId);
        if (!process) return { count: 0, poison: [] };
        const batch = await takeBack(context, tx, processId, process);
        if (batch.count > 0) await wakeExecutors(tx);
        if (batch.count < batchSize) await deleteProcess(tx, processId);
        return batch;
      },
      timeoutMs === undefined ? {} : { timeoutMs },
    );
    reaped.count += count;
    reaped.poison.push(...poison);
    if (count < batchSize) return reaped;
  }
}

async function takeBack(
  context: Context,
  tx: Transaction,
  processId: string,
  { released, expires_at, host, pid }: ExpiredProcess,
): Promise<Reaped> {
  const { now } = tx;
  const lost = await lockLost(tx, { processId }, batchSize);
  if (lost.length === 0) return { count: 0, poison: [] };
  const loss = { at: expires_at.toISOString(), process: processId, host, pid };
  const poison = released ? [] : await settleDead(context, tx, now, { lost, loss });
  if (released) await requeueLost(tx, now, lost);
  return { count: lost.length, poison };
}

/**
 * Puts back jobs that nobody runs: those of a claim whose answer never came, or of a process whose row is gone. Returns how
 * many.
 */
export function returnJobs(
  { db }: Pick<Context, 'db'>,
  of: { processId: string; claimId?: string },
): Promise<number> {
  return db.transaction(async (tx) => {
    const lost = await lockLost(tx, of, batchSize);
    if (lost.length === 0) return 0;
    await requeueLost(tx, tx.now, lost);
    await wakeExecutors(tx);
    return lost.length;
  });
}

/** EXE-9: a process that was taken for dead lives: its jobs were not lost by a death. */
export async function forgive(db: Database, processId: string, timeoutMs: number): Promise<void> {
  await db.transaction((tx) => forgiveProcess(tx, processId), { timeoutMs });
}
