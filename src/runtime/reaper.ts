import { type ExecutorContext, statementTimeoutMs } from '../pipeline/claim.ts';
import { forgive, reap, returnJobs } from '../pipeline/reap.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import { missingProcesses } from '../store/processes.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { LeaseEvent, LeaseState } from './lease-state.ts';

export interface ReaperOptions extends ExecutorContext {
  telemetry: Telemetry;
  lease: () => LeaseState;
  apply: (event: LeaseEvent) => void;
  /** Claim now. */
  onRequeued: () => void;
}

export interface Reaper extends Loop {
  /** EXE-9: a released lease is no death. */
  forgiveDeaths(): Promise<void>;
}

/** Process rows may be deleted by hand. */
const orphanCheckMs = 60_000;
/** Under an old snapshot it scans many dead rows. */
const maxOrphanCheckShare = 1 / 100;

/** EXE-9. Separate: never delays the heartbeat. */
export function startReaper(options: ReaperOptions): Reaper {
  const { db, config, ports, telemetry, lease, apply, onRequeued } = options;
  const timeoutMs = statementTimeoutMs(config);
  let nextOrphanCheckMonotonicMs = Number.NEGATIVE_INFINITY;

  async function runOnce(): Promise<number> {
    await reapExpired();
    if (ports.monotonicMs() >= nextOrphanCheckMonotonicMs) await returnOrphans();
    await returnUncertain();
    // Last: may wait for a locked connection.
    await forgiveDeaths();
    return orphanCheckMs;
  }

  async function reapExpired(): Promise<void> {
    const { expired } = lease();
    for (const processId of expired) {
      const { count, suspects } = await reap(options, processId, timeoutMs);
      if (count > 0) telemetry.processReaped(processId, count);
      telemetry.jobsPoisoned(suspects);
    }
    apply({ type: 'reaped', expired });
    if (expired.length > 0) onRequeued();
  }

  async function returnOrphans(): Promise<void> {
    const startedMs = ports.monotonicMs();
    try {
      for (const processId of await missingProcesses(db.within(timeoutMs)))
        telemetry.processReaped(processId, await returnJobs({ db }, { processId }));
    } finally {
      const tookMs = ports.monotonicMs() - startedMs;
      nextOrphanCheckMonotonicMs = startedMs + Math.max(orphanCheckMs, tookMs / maxOrphanCheckShare);
    }
  }

  async function returnUncertain(): Promise<void> {
    const { current } = lease();
    if (!current) return;
    for (const [claimId, { isChecked }] of current.uncertain) {
      await returnJobs({ db }, { processId: current.id, claimId });
      if (!isChecked) onRequeued();
      apply({ type: 'claimChecked', processId: current.id, claimId, monotonicMs: ports.monotonicMs() });
    }
  }

  async function forgiveDeaths(): Promise<void> {
    for (const id of lease().survived) {
      // A dead socket would block the reaper.
      await forgive(db, id, timeoutMs);
      apply({ type: 'forgiven', id });
    }
  }

  const loop = startLoop({
    ports,
    runOnce,
    onFailure: (error, retryMs) => telemetry.roundFailed('reaper', error, retryMs),
  });
  return { ...loop, forgiveDeaths };
}
