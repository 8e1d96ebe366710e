import { rateLimitOf } from '../config/rate-limits.ts';
import { describeError, TransientError } from '../contract/errors.ts';
import type { ExecutorContext } from '../pipeline/claim.ts';
import { type Committed, commit, type Settlement } from '../pipeline/commit.ts';
import { judge } from '../pipeline/judge.ts';
import { retryDelayMs } from '../platform/retry.ts';
import { isLockTimeout, isRefusal } from '../store/database-errors.ts';

import type { Telemetry } from '../telemetry/index.ts';

export interface CommitQueueOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** The verdict was stored; with it so many new signals. */
  onStored: (settlement: Settlement, signals: number) => void;
  /** The claim was lost before the verdict could be stored. */
  onLost: (settlement: Settlement) => void;
  /** Jobs now follow that are due at once. */
  onFollowUps: () => void;
  /** Whether the claim may still be there; what has lost it is not tried again. */
  isHeld: (settlement: Settlement) => boolean;
  /** Aborts when there is no time left to try again. */
  givenUp: AbortSignal;
}

export interface CommitQueue {
  add(settlement: Settlement): void;
  /** Resolves when nothing is left to store. */
  drained(): Promise<void>;
}

/** Transactions under way at once: while Postgres writes one, the next is put together here. */
const lanes = 2;
/** A page takes memory until it is stored, and a statement with all of them would take it again. */
const maxBytes = 16 * 1024 * 1024;
/** After so many refusals in a row, waiting does not help. */
const patience = 3;

/**
 * Stores what runs found: all that ended while the last transaction was being written go into the next. A transaction that
 * Postgres refuses is taken apart until the one run that it cannot take stands alone, and that one fails.
 */
export function createCommitQueue(options: CommitQueueOptions): CommitQueue {
  const { config, ports, telemetry, onStored, onLost, onFollowUps, isHeld, givenUp } = options;
  const queue: Settlement[] = [];
  let underWay = 0;
  let aside = 0;
  const worthALane = Math.ceil(Math.min(config.claimBatch, config.concurrency) / 2);
  const isDrained = () => underWay === 0 && aside === 0 && queue.length === 0;
  let scheduled = false;
  let onDrained: (() => void)[] = [];

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // Runs that end in the same turn are stored together.
    setImmediate(() => {
      scheduled = false;
      while (underWay < lanes && queue.length > 0 && (underWay === 0 || queue.length >= worthALane))
        void storeNext();
    });
  }

  async function storeNext(): Promise<void> {
    underWay++;
    await settle(nextBatch());
    underWay--;
    if (queue.length > 0) schedule();
    tellDrained();
  }

  function tellDrained(): void {
    if (isDrained()) for (const resolve of onDrained.splice(0)) resolve();
  }

  function nextBatch(): Settlement[] {
    let bytes = 0;
    let count = 0;
    for (const { verdict } of queue) {
      for (const { payload } of verdict.signals) bytes += payload.length;
      if (count > 0 && (bytes > maxBytes || count === config.claimBatch)) break;
      count++;
    }
    return queue.splice(0, count);
  }

  async function settle(batch: Settlement[], { isReplaced = false, isAside = false } = {}): Promise<void> {
    for (let failures = 0; ; failures++) {
      const held = batch.filter(isHeld);
      for (const settlement of batch) if (!held.includes(settlement)) onLost(settlement);
      if (held.length === 0) return;
      try {
        return tell(held, await commit(options, held));
      } catch (error) {
        // Somebody holds one of the connections, and may for long: nobody else is to wait for that.
        if (isLockTimeout(error) && held.length > 1) return takeApart(held);
        if (isLockTimeout(error) && !isAside) return setAside(held);
        const isRefused = isRefusal(error, failures >= patience);
        if (isRefused && held.length > 1) return takeApart(held);
        if (isRefused && !isReplaced)
          return settle(
            held.map((one) => refused(one, error)),
            { isReplaced: true, isAside },
          );
        if (givenUp.aborted) return held.forEach(onLost);
        const retryMs = retryDelayMs(failures, ports.random());
        telemetry.roundFailed('commit', error, retryMs);
        await ports.sleep(retryMs, givenUp);
        batch = held;
      }
    }
  }

  async function takeApart(batch: Settlement[]): Promise<void> {
    const half = Math.ceil(batch.length / 2);
    await Promise.all([settle(batch.slice(0, half)), settle(batch.slice(half))]);
  }

  /** Tried again and again beside the lanes. It keeps its slot, so there are never many. */
  function setAside(batch: Settlement[]): void {
    aside++;
    void settle(batch, { isAside: true }).finally(() => {
      aside--;
      tellDrained();
    });
  }

  function tell(batch: Settlement[], { stored, followUps }: Committed): void {
    for (const settlement of batch) {
      const result = stored.get(settlement.job.id);
      if (result) onStored(settlement, result.signals);
      else onLost(settlement);
    }
    if (followUps > 0) onFollowUps();
  }

  /** Without what was logged, too: that may be what was refused. */
  function refused({ job, hide }: Settlement, error: unknown): Settlement {
    const thrown = new TransientError(`Postgres refused what the run found: ${describeError(error)}`);
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
