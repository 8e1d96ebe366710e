import { rateLimitOf } from '../config/rate-limits.ts';
import { describeError, TransientError } from '../contract/errors.ts';
import type { ExecutorContext } from '../pipeline/claim.ts';
import { type Committed, commit, type Settlement } from '../pipeline/commit.ts';
import { judge } from '../pipeline/judge.ts';
import { retryDelayMs } from '../platform/retry.ts';
import { yieldToLoop } from '../platform/slices.ts';
import { isLockTimeout, isRejection } from '../store/database-errors.ts';

import type { Telemetry } from '../telemetry/index.ts';

export interface CommitQueueOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** `signals`: new ones. */
  onStored: (settlement: Settlement, signals: number) => void;
  onLost: (settlement: Settlement) => void;
  onFollowUps: () => void;
  /** False: the claim is lost, do not retry. */
  isHeld: (settlement: Settlement) => boolean;
  /** Aborts when retries must stop. */
  shutdownDeadline: AbortSignal;
}

export interface CommitQueue {
  add(settlement: Settlement): void;
  drained(): Promise<void>;
}

/** Parallel transactions: one batch is assembled while Postgres writes the other. */
const maxWriters = 2;
/** Bounds memory: the driver copies pages into the statement. */
const maxBatchBytes = 16 * 1024 * 1024;
const maxRejections = 3;

/**
 * Batches commits: runs that end during a transaction go into the next one. A rejected batch is bisected
 * until the offending run is alone; only that run fails.
 */
export function createCommitQueue(options: CommitQueueOptions): CommitQueue {
  const { config, ports, telemetry, onStored, onLost, onFollowUps, isHeld, shutdownDeadline } = options;
  const queue: Settlement[] = [];
  let activeWriters = 0;
  let isolatedCount = 0;
  const minBatchForSecondWriter = Math.ceil(Math.min(config.claimBatch, config.concurrency) / 2);
  const isDrained = () => activeWriters === 0 && isolatedCount === 0 && queue.length === 0;
  let scheduled = false;
  let onDrained: (() => void)[] = [];

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // Runs that end in the same event-loop turn share a transaction.
    void yieldToLoop().then(() => {
      scheduled = false;
      while (canStartWriter()) void commitNext();
    });
  }

  const canStartWriter = () =>
    activeWriters < maxWriters &&
    queue.length > 0 &&
    (activeWriters === 0 || queue.length >= minBatchForSecondWriter);

  async function commitNext(): Promise<void> {
    activeWriters++;
    await commitBatch(nextBatch());
    activeWriters--;
    if (queue.length > 0) schedule();
    notifyDrained();
  }

  function notifyDrained(): void {
    if (isDrained()) for (const resolve of onDrained.splice(0)) resolve();
  }

  function nextBatch(): Settlement[] {
    let bytes = 0;
    let count = 0;
    for (const { verdict } of queue) {
      for (const { payload } of verdict.signals) bytes += payload.length;
      if (count > 0 && (bytes > maxBatchBytes || count === config.claimBatch)) break;
      count++;
    }
    return queue.splice(0, count);
  }

  async function commitBatch(
    batch: Settlement[],
    { isReplaced = false, isIsolated = false } = {},
  ): Promise<void> {
    for (let failures = 0; ; failures++) {
      const held = batch.filter(isHeld);
      for (const settlement of batch) if (!held.includes(settlement)) onLost(settlement);
      if (held.length === 0) return;
      try {
        return report(held, await commit(options, held));
      } catch (error) {
        // The other runs must not wait for the locked connection.
        if (isLockTimeout(error) && held.length > 1) return bisect(held);
        if (isLockTimeout(error) && !isIsolated) return retryAlone(held);
        const isRejected = isRejection(error, failures >= maxRejections);
        if (isRejected && held.length > 1) return bisect(held);
        if (isRejected && !isReplaced)
          return commitBatch(
            held.map((settlement) => asFailure(settlement, error)),
            { isReplaced: true, isIsolated },
          );
        if (shutdownDeadline.aborted) return held.forEach(onLost);
        const retryMs = retryDelayMs(failures, ports.random());
        telemetry.roundFailed('commit', error, retryMs);
        await ports.sleep(retryMs, shutdownDeadline);
        batch = held;
      }
    }
  }

  async function bisect(batch: Settlement[]): Promise<void> {
    const half = Math.ceil(batch.length / 2);
    await Promise.all([commitBatch(batch.slice(0, half)), commitBatch(batch.slice(half))]);
  }

  /** Retries outside the writers. The run keeps its executor slot, which bounds `isolatedCount`. */
  function retryAlone(batch: Settlement[]): void {
    isolatedCount++;
    void commitBatch(batch, { isIsolated: true }).finally(() => {
      isolatedCount--;
      notifyDrained();
    });
  }

  function report(batch: Settlement[], { stored, followUps }: Committed): void {
    for (const settlement of batch) {
      const result = stored.get(settlement.job.id);
      if (result) onStored(settlement, result.signals);
      else onLost(settlement);
    }
    if (followUps > 0) onFollowUps();
  }

  /** Drops the run's log as well: it may be what Postgres rejected. */
  function asFailure({ job, hide }: Settlement, error: unknown): Settlement {
    const thrown = new TransientError(`Postgres rejected the result of the run: ${describeError(error)}`);
    const policy = rateLimitOf(options.rateLimit, job.providerSlug);
    const verdict = judge(
      job,
      { error: thrown },
      { policy, nowMs: ports.now(), random: ports.random(), hide },
    );
    return { job, verdict, hide };
  }

  return {
    add: (settlement) => {
      queue.push(settlement);
      schedule();
    },
    drained: () =>
      new Promise((resolve) => {
        if (isDrained()) resolve();
        else onDrained = [...onDrained, resolve];
      }),
  };
}
