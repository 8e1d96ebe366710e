import type { Connector } from '../contract/connector.ts';
import { TransientError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import { redactorFor } from '../pipeline/run.ts';
import { RunAbort } from '../pipeline/run-abort.ts';
import type { HeldRun, Stored } from '../pipeline/sync.ts';
import type { Ports } from '../platform/ports.ts';
import { createRunLog, type LossReason, type Telemetry } from '../telemetry/index.ts';

export interface RunTotals {
  succeeded: number;
  requeued: number;
  failed: number;
  /** Ended for a `LossReason`. */
  lost: number;
  signals: number;
}

export interface SlotRun extends HeldRun {
  startedMs: number;
}

export interface SlotsOptions {
  ports: Ports;
  telemetry: Telemetry;
  connectors: ReadonlyMap<string, Connector>;
  onFreed: () => void;
}

const abortReasons: Record<LossReason, string> = {
  leaseLost: 'its lease was lost',
  claimLost: 'its job was requeued, ended or claimed again',
  jobDeleted: 'its job was deleted',
  notCommitted: 'its result was not stored',
  cancelled: 'its job was cancelled',
  shutdown: 'the process is shutting down',
};

/** In start order. */
export interface Slots {
  count(): number;
  /** A copy: slots may change meanwhile. */
  all(): SlotRun[];
  syncing(): SlotRun[];
  ofJob(jobId: string): SlotRun | undefined;
  totals(): RunTotals;
  start(job: ClaimedJob): SlotRun;
  finish(run: SlotRun, stored: Stored): void;
  /** Aborts the run and discards its result. */
  forget(run: SlotRun, why: LossReason): void;
  /** EXE-9. Returns the time until the next run is late. */
  abortOverdue(maxRunSeconds: number): number;
  emptied(): Promise<void>;
}

export function createSlots({ ports, telemetry, connectors, onFreed }: SlotsOptions): Slots {
  const runs = new Map<string, SlotRun>();
  const totals: RunTotals = { succeeded: 0, requeued: 0, failed: 0, lost: 0, signals: 0 };
  const onEmpty: (() => void)[] = [];

  const isHeld = (run: SlotRun) => runs.get(run.job.id) === run;

  function remove({ job }: SlotRun): void {
    runs.delete(job.id);
    telemetry.running(runs.size);
    if (runs.size === 0) for (const resolve of onEmpty.splice(0)) resolve();
  }

  function forget(run: SlotRun, why: LossReason): void {
    if (!isHeld(run)) return;
    remove(run);
    totals.lost++;
    run.abort.abort(new TransientError(`The run was aborted: ${abortReasons[why]}.`));
    telemetry.runLost(run.job, why);
    onFreed();
  }

  return {
    count: () => runs.size,
    all: () => [...runs.values()],
    syncing: () => [...runs.values()].filter(({ state }) => state === 'syncing'),
    ofJob: (jobId) => runs.get(jobId),
    totals: () => ({ ...totals }),

    start(job) {
      // An earlier run lost its claim unnoticed.
      const earlier = runs.get(job.id);
      if (earlier) forget(earlier, 'claimLost');
      const redactor = redactorFor(job, connectors.get(job.providerSlug) as Connector);
      const run: SlotRun = {
        job,
        abort: new RunAbort(),
        startedMs: ports.monotonicMs(),
        log: createRunLog(() => telemetry.runLogger(job), { now: ports.now, redact: redactor.redact }),
        redactor,
        isHeld: () => isHeld(run),
        state: 'syncing',
      };
      runs.set(job.id, run);
      return run;
    },

    finish(run, { verdict, signals }) {
      // Forgotten while its commit succeeded.
      if (!isHeld(run)) return;
      const durationMs = Math.max(0, ports.monotonicMs() - run.startedMs);
      remove(run);
      totals[verdict.outcome]++;
      totals.signals += signals;
      telemetry.jobFinished(run.job, verdict, { durationMs, signals });
      onFreed();
    },

    forget,

    abortOverdue(maxRunSeconds) {
      const maxMs = maxRunSeconds * 1000;
      for (const { abort, startedMs, state } of runs.values()) {
        const leftMs = startedMs + maxMs - ports.monotonicMs();
        if (leftMs > 0) return leftMs;
        if (state === 'syncing' && !abort.isAborted)
          abort.abort(new TransientError(`The run took longer than ${maxRunSeconds} s and was aborted.`));
      }
      return maxMs;
    },

    emptied: () => new Promise<void>((resolve) => (runs.size === 0 ? resolve() : void onEmpty.push(resolve))),
  };
}
