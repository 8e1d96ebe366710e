import type { ExecutorContext } from '../pipeline/claim.ts';
import { type Committed, commit, type Settlement } from '../pipeline/commit.ts';
import type { Stored } from '../pipeline/sync.ts';
import { retryDelayMs } from '../platform/retry.ts';
import { yieldToLoop } from '../platform/slices.ts';
import { isLockTimeout, isRejection } from '../store/database-errors.ts';
import type { Telemetry } from '../telemetry/index.ts';

export interface CommitQueueOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** False: do not retry. */
  isHeld: (settlement: Settlement) => boolean;
  /** Ends retries. */
  shutdownDeadline: AbortSignal;
}

export interface CommitQueue {
  /** Undefined: the claim was lost or the process stopped. */
  add(settlement: Settlement): Promise<Stored | undefined>;
  drained(): Promise<void>;
}

interface Entry {
  settlement: Settlement;
  resolve: (stored: Stored | undefined) => void;
  /** Retried alone: its connection is locked. */
  isIsolated: boolean;
  /** Postgres rejected the result. */
  isReplaced: boolean;
}

/** One is assembled while Postgres writes the other. */
const maxWriters = 2;
/** Bounds memory: the driver copies pages. */
const maxBatchBytes = 16 * 1024 * 1024;
const maxRejections = 3;

/** Runs that end during a transaction join the next. */
export function createCommitQueue(options: CommitQueueOptions): CommitQueue {
  const { config, ports, telemetry, isHeld, shutdownDeadline } = options;
  const queue: Entry[] = [];
  let activeWriters = 0;
  let isolatedCount = 0;
  let isScheduled = false;
  const onDrained: (() => void)[] = [];
  const minBatchForSecondWriter = Math.ceil(Math.min(config.claimBatch, config.concurrency) / 2);
  const isDrained = () => activeWriters === 0 && isolatedCount === 0 && queue.length === 0;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    // Runs that end in one event loop turn share a transaction.
    void yieldToLoop().then(() => {
      isScheduled = false;
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

  function nextBatch(): Entry[] {
    let bytes = 0;
    let count = 0;
    for (const { settlement } of queue) {
      for (const { payload } of settlement.verdict.signals) bytes += payload.length;
      if (count > 0 && (bytes > maxBatchBytes || count === config.claimBatch)) break;
      count++;
    }
    return queue.splice(0, count);
  }

  async function commitBatch(batch: Entry[]): Promise<void> {
    let held = batch;
    for (let failures = 0; ; failures++) {
      held = withoutLost(held);
      if (held.length === 0) return;
      try {
        return report(held, await commit(options, held.map(settlementOf)));
      } catch (error) {
        switch (remedyFor(error, held, failures)) {
          case 'bisect':
            return bisect(held);
          case 'isolate':
            return isolate(held);
          case 'replace':
            return commitBatch(held.map((entry) => asFailure(entry, error)));
          case 'retry':
            if (shutdownDeadline.aborted) return lose(held);
            await pause(error, failures);
        }
      }
    }
  }

  function withoutLost(batch: Entry[]): Entry[] {
    lose(batch.filter(({ settlement }) => !isHeld(settlement)));
    return batch.filter(({ settlement }) => isHeld(settlement));
  }

  async function bisect(batch: Entry[]): Promise<void> {
    const half = Math.ceil(batch.length / 2);
    await Promise.all([commitBatch(batch.slice(0, half)), commitBatch(batch.slice(half))]);
  }

  /** Not awaited: slots bound `isolatedCount`. */
  function isolate(batch: Entry[]): void {
    isolatedCount++;
    void commitBatch(batch.map((entry) => ({ ...entry, isIsolated: true }))).finally(() => {
      isolatedCount--;
      notifyDrained();
    });
  }

  async function pause(error: unknown, failures: number): Promise<void> {
    const retryMs = retryDelayMs(failures, ports.random());
    telemetry.roundFailed('commit', error, retryMs);
    await ports.sleep(retryMs, shutdownDeadline);
  }

  return {
    add: (settlement) =>
      new Promise((resolve) => {
        queue.push({ settlement, resolve, isIsolated: false, isReplaced: false });
        schedule();
      }),
    drained: () => new Promise((resolve) => (isDrained() ? resolve() : void onDrained.push(resolve))),
  };
}

const settlementOf = ({ settlement }: Entry) => settlement;

/** Bisects to the locked connection or rejected result: others neither wait nor fail. */
function remedyFor(
  error: unknown,
  batch: Entry[],
  failures: number,
): 'bisect' | 'isolate' | 'replace' | 'retry' {
  const [first] = batch;
  const isAlone = batch.length === 1;
  if (isLockTimeout(error)) {
    if (!isAlone) return 'bisect';
    if (!first?.isIsolated) return 'isolate';
  }
  if (isRejection(error, failures >= maxRejections)) {
    if (!isAlone) return 'bisect';
    if (!first?.isReplaced) return 'replace';
  }
  return 'retry';
}

/** Postgres may have rejected the log. */
function asFailure(entry: Entry, error: unknown): Entry {
  const { job, ifRejected } = entry.settlement;
  return { ...entry, settlement: { job, verdict: ifRejected(error), ifRejected }, isReplaced: true };
}

function report(batch: Entry[], { stored, followUps }: Committed): void {
  const hasFollowUps = followUps > 0;
  for (const { settlement, resolve } of batch) {
    const result = stored.get(settlement.job.id);
    resolve(result && { verdict: settlement.verdict, signals: result.signals, hasFollowUps });
  }
}

function lose(batch: Entry[]): void {
  for (const { resolve } of batch) resolve(undefined);
}
