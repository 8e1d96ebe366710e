import { countOverdue } from '../store/connections.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { type Batch, enqueueBatch, type SchedulerContext } from './enqueue.ts';

export interface TickResult {
  /** Jobs placed. */
  scheduled: number;
  /** Due connections met whose job is still queued or running; they are set aside until it ends. */
  skippedPending: number;
  /** Placed connections whose metadata had a wrong field. */
  invalidMetadata: number;
  /** SCH-10: connections overdue and not yet placed when the tick began, counted as it places them. */
  backlog: number;
  durationMs: number;
}

/** Where a lane goes on, with how large a batch, and how patiently. */
type Position = Pick<Batch, 'after' | 'limit' | 'lockTimeoutMs'>;

/** Others commit within milliseconds. One that does not must not hold up everybody else's schedule. */
const patienceMs = 1000;
/** Once somebody has been waited for in vain, looking for the one that is held must not take long. */
const impatienceMs = 50;

/**
 * Batches under way at once when there is much to do: while Postgres writes one, the next is decided here. More would
 * only take more of the database's cores.
 */
const lanes = 2;

/**
 * One complete tick: batch after batch until nothing is due. Each batch decides by the database's time (DB-6), or by `atMs` if it
 * is given. An aborted signal ends the tick between two batches.
 */
export async function tick(
  context: SchedulerContext,
  atMs: number | undefined,
  signal?: AbortSignal,
): Promise<TickResult> {
  const { db, config, ports, telemetry } = context;
  const startedMs = ports.monotonicMs();
  const total = { scheduled: 0, skippedPending: 0, invalidMetadata: 0, backlog: 0 };

  async function nextBatch(position: Position): Promise<Position | undefined> {
    const { limit, lockTimeoutMs } = position;
    try {
      const batch = await enqueueBatch(context, { atMs, ...position });
      total.scheduled += batch.placed;
      total.skippedPending += batch.skippedPending;
      total.invalidMetadata += batch.invalidMetadata;
      total.backlog += batch.overdue;
      const next = { limit: Math.min(config.batchSize, limit * 10), lockTimeoutMs };
      return batch.continueAfter && { after: batch.continueAfter, ...next };
    } catch (error) {
      // One connection of the batch is held by a writer that does not commit: smaller steps, until it stands alone.
      if (!isLockTimeout(error)) throw error;
      return { ...position, limit: Math.ceil(limit / 10), lockTimeoutMs: impatienceMs };
    }
  }

  async function drain(from: Position | undefined): Promise<void> {
    let position = from;
    while (position && !signal?.aborted) position = await nextBatch(position);
  }

  async function placeAll(): Promise<void> {
    const start = { after: undefined, limit: config.batchSize, lockTimeoutMs: patienceMs };
    const first = signal?.aborted ? undefined : await nextBatch(start);
    const outcomes = await Promise.allSettled(Array.from({ length: lanes }, () => drain(first)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  const failure = await placeAll().then(
    () => undefined,
    async (error: unknown) => {
      // What could not be placed is no less overdue.
      total.backlog += await db
        .transaction((tx) => countOverdue(tx, atMs === undefined ? tx.now : new Date(atMs)))
        .catch(() => 0);
      return { error };
    },
  );
  const result = { ...total, durationMs: Math.max(0, ports.monotonicMs() - startedMs) };
  telemetry.tickFinished(result);
  if (failure) throw failure.error;
  return result;
}
