import type { ClaimedJob, ExecutorContext } from '../pipeline/claim.ts';
import { type Stored, syncJob } from '../pipeline/sync.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import type { ReservedConnection } from '../store/reserved.ts';
import type { WakeReason } from '../store/wake.ts';
import type { LossReason, Telemetry } from '../telemetry/index.ts';
import { createClaimRounds } from './claim-rounds.ts';
import { createCommitQueue } from './commit-queue.ts';
import { startLease } from './lease.ts';
import { createSlots, type RunTotals, type SlotRun } from './slots.ts';

export interface ExecutorOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** For heartbeats and notifications. */
  openReserved: (options: { timeoutMs: number; onWake: (reason: WakeReason) => void }) => ReservedConnection;
}

/** Claimed jobs and ended runs. */
export interface WorkTotals extends RunTotals {
  claimed: number;
}

export interface Executor extends Loop {
  totals(): WorkTotals;
  drained(): Promise<void>;
}

/** Two fit into a lease; a slow server must not time out. */
const heartbeatTimeoutMs = (leaseSeconds: number) => Math.min(10_000, Math.max(1000, leaseSeconds * 300));

/** By the status that a heartbeat finds; any other: the row has no claim or another. */
const lossReasons: Partial<Record<string, LossReason>> = { cancelled: 'cancelled', deleted: 'jobDeleted' };

const ended = ({ succeeded, requeued, failed }: RunTotals) => succeeded + requeued + failed;

export function startExecutor(options: ExecutorOptions): Executor {
  const { config, ports, telemetry } = options;
  const shutdownDeadline = new AbortController();
  let stopped: Promise<void> | undefined;

  const slots = createSlots({ ...options, onFreed: () => claims.wake() });
  const commits = createCommitQueue({
    ...options,
    isHeld: ({ job }) => slots.ofJob(job.id)?.job === job,
    shutdownDeadline: shutdownDeadline.signal,
  });
  const syncing = { ...options, commits };

  const reserved = options.openReserved({
    timeoutMs: heartbeatTimeoutMs(config.leaseSeconds),
    onWake: (reason) => {
      if (reason === 'runs') return lease.wake();
      // EXE-2: such as of an unblocked job.
      rounds.forgetNextDue();
      claimNow();
    },
  });
  const lease = startLease({
    ...options,
    reserved,
    runs: () => slots.syncing().map(({ job }) => ({ jobId: job.id, claimId: job.claimId })),
    onHeld: () => claimNow(),
    onRunLost: ({ jobId, claimId, status }) => {
      const run = slots.ofJob(jobId);
      if (run?.state === 'syncing' && run.job.claimId === claimId)
        slots.forget(run, lossReasons[status] ?? 'claimLost');
    },
    onLost: () => {
      telemetry.leaseLost(slots.count());
      for (const run of slots.all()) slots.forget(run, 'leaseLost');
    },
  });
  const rounds = createClaimRounds({ ...options, slots, lease, isListening: reserved.isListening, start });

  const claims = startLoop({
    ports,
    runOnce: rounds.runOnce,
    onFailure: (error, retryMs) => telemetry.roundFailed('executor', error, retryMs),
  });
  const runTimeouts = startLoop({
    ports,
    runOnce: async () => slots.abortOverdue(config.maxRunSeconds),
    onFailure: () => {},
  });

  function claimNow(): void {
    rounds.expectWork();
    claims.wake();
  }

  function start(job: ClaimedJob): void {
    const run = slots.start(job);
    if (slots.count() === 1) runTimeouts.wake();
    void syncJob(run, syncing).then((stored) => free(run, stored));
  }

  function free(run: SlotRun, stored: Stored | undefined): void {
    if (stored?.hasFollowUps) claimNow();
    if (stored?.verdict.outcome === 'requeued') rounds.forgetNextDue();
    if (stored) slots.finish(run, stored);
    else slots.forget(run, 'notCommitted');
  }

  /** EXE-10. */
  async function shutDown(): Promise<void> {
    await claims.stop();
    const before = ended(slots.totals());
    const graceTimer = new AbortController();
    await Promise.race([ports.sleep(config.shutdownGraceSeconds * 1000, graceTimer.signal), slots.emptied()]);
    graceTimer.abort();
    // One commit attempt for ended runs; requeues others.
    for (const run of slots.syncing()) slots.forget(run, 'shutdown');
    shutdownDeadline.abort();
    await Promise.all([commits.drained(), runTimeouts.stop()]);
    const requeued = await lease.stop().catch((error: unknown) => {
      telemetry.leaseNotReturned(error);
      return 0;
    });
    telemetry.executorStopped({ finished: ended(slots.totals()) - before, requeued });
  }

  return {
    wake: claimNow,
    stop: () => {
      stopped ??= shutDown();
      return stopped;
    },
    totals: () => ({ claimed: rounds.claimed(), ...slots.totals() }),
    drained: rounds.drained,
  };
}
