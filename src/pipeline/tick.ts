import type { Config } from '../config/settings.ts';
import type { Ports } from '../platform/ports.ts';
import { countOverdue, type DuePosition } from '../store/connections.ts';
import type { Database } from '../store/database.ts';
import { isLockTimeout } from '../store/database-errors.ts';
import { takeDue } from './due.ts';
import { enqueue } from './enqueue.ts';
import type { SchedulerEvents, TickResult } from './events.ts';
import { plan } from './plan.ts';

export interface SchedulerContext {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  telemetry: SchedulerEvents;
}

interface BatchResult {
  /** Set after a full batch. */
  continueAfter: DuePosition | undefined;
  placed: number;
  /** Of those placed. */
  overdue: number;
  skippedPending: number;
  invalidMetadata: number;
}

interface Batch {
  /** Overrides the database's clock. */
  atMs: number | undefined;
  /** Undefined: from the first due connection. */
  after: DuePosition | undefined;
  limit: number;
  /** For uncommitted job inserts of these connections. */
  lockTimeoutMs: number;
}

type Position = Pick<Batch, 'after' | 'limit' | 'lockTimeoutMs'>;

/** A long transaction must not block the tick. */
const firstLockTimeoutMs = 1000;
/** While bisecting to the locked row. */
const bisectLockTimeoutMs = 50;

/** One is planned while Postgres writes the other. More only use more database cores. */
const parallelBatches = 2;

/** SCH-1: one transaction: due → plan → enqueue. */
async function placeBatch(context: SchedulerContext, batch: Batch): Promise<BatchResult> {
  const { db, config, ports, telemetry } = context;
  const { atMs, limit, lockTimeoutMs } = batch;
  let last: DuePosition | undefined;
  const { placed, blocked, deferred } = await db
    .transaction(
      async (tx) => {
        const nowMs = atMs ?? tx.now.getTime();
        const taken = await takeDue(tx, {
          ...batch,
          nowMs,
          tickIntervalSeconds: config.tickIntervalSeconds,
          bounds: config,
        });
        last = taken.due.length === limit ? taken.last : undefined;
        const planned = taken.due.map((connection) => plan(connection, config, ports, nowMs));
        return enqueue(tx, planned, { config, nowMs, writesDueAt: taken.writesDueAt });
      },
      { lockTimeoutMs, triggers: 'off', plans: 'generic' },
    )
    .catch((error: unknown) => {
      // An uncommitted job insert counts as pending.
      if (limit === 1 && isLockTimeout(error)) return { placed: [], blocked: [undefined], deferred: [] };
      throw error;
    });

  // After COMMIT: a rolled-back batch placed no jobs.
  for (const job of placed) telemetry.jobPlaced(job, config);
  const invalid = [...placed, ...deferred].filter((job) => job.connection.sync.invalid.length > 0);
  for (const job of invalid) telemetry.invalidMetadata(job.connection);
  return {
    continueAfter: last,
    placed: placed.length,
    overdue: placed.filter((job) => job.connection.isOverdue).length,
    skippedPending: blocked.length,
    invalidMetadata: invalid.length,
  };
}

/** Until nothing is due. `atMs` overrides the database's clock (DB-6). */
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
      const batch = await placeBatch(context, { atMs, ...position });
      total.scheduled += batch.placed;
      total.skippedPending += batch.skippedPending;
      total.invalidMetadata += batch.invalidMetadata;
      total.backlog += batch.overdue;
      const next = { limit: Math.min(config.batchSize, limit * 10), lockTimeoutMs };
      return batch.continueAfter && { after: batch.continueAfter, ...next };
    } catch (error) {
      // Shrinks the batch to the locked row.
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
      // The rest is still overdue.
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
