import { countOverdue } from '../store/connections.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { type Batch, enqueueBatch, type SchedulerContext } from './enqueue.ts';

export interface TickResult {
  scheduled: number;
  /** Deferred until their pending job ends. */
  skippedPending: number;
  invalidMetadata: number;
  /** SCH-10: connections overdue and not yet placed when the tick began. */
  backlog: number;
  durationMs: number;
}

/** Where a worker continues. */
type Position = Pick<Batch, 'after' | 'limit' | 'lockTimeoutMs'>;

/** A long transaction must not block the tick. */
const firstLockTimeoutMs = 1000;
/** Lock timeout while bisecting to the locked row. */
const bisectLockTimeoutMs = 50;

/** Parallel batches: one is planned while Postgres writes the other. More only use more database cores. */
const parallelBatches = 2;

/** Runs batches (due → plan → enqueue) until nothing is due. `atMs` overrides the database's clock (DB-6). */
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
      // Shrink the batch until the locked row is alone.
      if (!isLockTimeout(error)) throw error;
      return { ...position, limit: Math.ceil(limit / 10), lockTimeoutMs: bisectLockTimeoutMs };
    }
  }

  async function drain(from: Position | undefined): Promise<void> {
    let position = from;
    while (position && !signal?.aborted) position = await nextBatch(position);
  }

  async function placeAll(): Promise<void> {
    const start = { after: undefined, limit: config.batchSize, lockTimeoutMs: firstLockTimeoutMs };
    const first = signal?.aborted ? undefined : await nextBatch(start);
    const outcomes = await Promise.allSettled(Array.from({ length: parallelBatches }, () => drain(first)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  const failure = await placeAll().then(
    () => undefined,
    async (error: unknown) => {
      // The unplaced rest is still overdue.
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
