import { hostname } from 'node:os';
import { type ExecutorContext, statementTimeoutMs } from '../pipeline/claim.ts';
import { forgive, reap, returnJobs } from '../pipeline/reap.ts';
import { startLoop } from '../platform/loop.ts';
import {
  type Beat,
  beat,
  type ClaimKey,
  insertProcess,
  type LostRun,
  missingProcesses,
  releaseProcess,
} from '../store/processes.ts';
import type { ReservedConnection } from '../store/reserved.ts';

import type { Telemetry } from '../telemetry/index.ts';

export interface LeaseOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** Dedicated to the lease, so a busy pool cannot delay a heartbeat. */
  reserved: ReservedConnection;
  runs: () => ClaimKey[];
  /** The lease is held, or jobs were requeued: claim now. */
  onHeld: () => void;
  /** The run lost its claim; its job is in `status`. */
  onRunLost: (run: LostRun) => void;
  onLost: () => void;
}

export interface Lease {
  /** The id for claims; undefined while the last heartbeat failed or the lease has expired. */
  processId(): string | undefined;
  /** Jobs of dead processes or uncertain claims may still have to be requeued. */
  hasPendingReturns(): boolean;
  holds(processId: string): boolean;
  /** The claim's outcome is unknown; its jobs are requeued if it committed. */
  markUncertain(claimId: string): void;
  /** Sends a heartbeat now. */
  wake(): void;
  /** Returns the number of requeued jobs. */
  stop(): Promise<number>;
}

/** At most a fifth of the lease. */
function heartbeatIntervalMs(leaseSeconds: number): number {
  return Math.min(5000, leaseSeconds * 200);
}

/** For jobs whose process row was deleted by hand. */
const sweepMs = 60_000;
/** Under an old snapshot the sweep scans many dead rows. */
const maxSweepShare = 1 / 100;

interface UncertainClaim {
  untilMs: number;
  isChecked: boolean;
}

/** An interrupted COMMIT may still succeed within this time. */
const uncertainMs = 60_000;

/**
 * EXE-9: one statement renews the lease and finds dead processes and lost claims. When the lease expires, the
 * runs count as lost: another process may have claimed their jobs. A lost lease is never renewed; the process
 * continues under a new id.
 */
export function startLease(options: LeaseOptions): Lease {
  const { db, reserved, config, ports, telemetry, runs, onHeld, onRunLost, onLost } = options;
  const leaseMs = config.leaseSeconds * 1000;
  let expired: string[] = [];
  let nextSweepMs = Number.NEGATIVE_INFINITY;
  let current:
    | { id: string; heldUntilMs: number; isRenewed: boolean; uncertain: Map<string, UncertainClaim> }
    | undefined;
  /** Lost, not yet released. */
  let previousId: string | undefined;
  /** Lost leases that may have been counted as deaths. */
  const survived = new Set<string>();

  /** An in-flight heartbeat may have renewed the abandoned lease; expire it. */
  async function releasePrevious(): Promise<void> {
    if (previousId === undefined) return;
    await releaseProcess(reserved, await reserved.now(), previousId);
    survived.add(previousId);
    previousId = undefined;
    reaper.wake();
  }

  /** EXE-9: after `releasePrevious` no process can count that death. */
  async function forgiveDeaths(): Promise<void> {
    for (const id of survived) {
      // With a timeout: on a dead socket it would block the rest of the reaper.
      await forgive(db, id, statementTimeoutMs(config));
      survived.delete(id);
    }
  }

  async function register(): Promise<void> {
    await releasePrevious();
    const id = ports.newId();
    const sentMs = ports.monotonicMs();
    const { leaseSeconds, concurrency } = config;
    const providers = [...options.connectors.keys()];
    const now = await reserved.now();
    const self = { id, host: hostname(), pid: process.pid, concurrency, providers };
    await insertProcess(reserved, now, leaseSeconds, { ...self, clockSkewSeconds: db.clock.skewSeconds() });
    current = { id, heldUntilMs: sentMs + leaseMs, isRenewed: false, uncertain: new Map() };
    watchdog.wake();
  }

  /** Uses the clock of the previous heartbeat: an older time only shortens the lease. */
  async function sendHeartbeat(id: string): Promise<Beat> {
    const self = { id, clockSkewSeconds: db.clock.skewSeconds() };
    let answer: Beat | undefined;
    await db.clock.reading(async () => {
      answer = await beat(reserved, new Date(db.clock.nowMs()), config.leaseSeconds, self, runs());
      return answer.now_ms;
    });
    return answer as Beat;
  }

  async function heartbeat(): Promise<number> {
    if (!current) await register();
    const mine = current;
    if (!mine) return 0;
    const sentMs = ports.monotonicMs();
    const answer = await sendHeartbeat(mine.id);
    // The watchdog abandoned the lease meanwhile.
    if (current !== mine) return 0;
    if (!answer.held) {
      lose();
      return 0;
    }
    const wasUncertain = !mine.isRenewed;
    Object.assign(mine, { heldUntilMs: sentMs + leaseMs, isRenewed: true });
    expired = answer.expired;
    if (wasUncertain) onHeld();
    for (const run of answer.lost) onRunLost(run);
    if (expired.length > 0 || mine.uncertain.size > 0) reaper.wake();
    return heartbeatIntervalMs(config.leaseSeconds);
  }

  /** A separate loop on the pool, so that it never delays the heartbeat. */
  async function reapExpired(): Promise<number> {
    const found = expired;
    for (const processId of found) {
      const { count, poison } = await reap(options, processId, statementTimeoutMs(config));
      if (count > 0) telemetry.processReaped(processId, count);
      telemetry.jobsPoisoned(poison);
    }
    if (expired === found) expired = [];
    if (found.length > 0) onHeld();
    if (ports.monotonicMs() >= nextSweepMs) await sweep();
    const mine = current;
    for (const [claimId, claim] of mine?.uncertain ?? []) {
      await returnJobs({ db }, { processId: mine?.id as string, claimId });
      if (!claim.isChecked) onHeld();
      claim.isChecked = true;
      if (claim.untilMs < ports.monotonicMs()) mine?.uncertain.delete(claimId);
    }
    // Last: a locked connection must not delay reaping.
    await forgiveDeaths();
    return sweepMs;
  }

  async function sweep(): Promise<void> {
    const startedMs = ports.monotonicMs();
    try {
      for (const processId of await missingProcesses(db.within(statementTimeoutMs(config))))
        telemetry.processReaped(processId, await returnJobs({ db }, { processId }));
    } finally {
      const tookMs = ports.monotonicMs() - startedMs;
      nextSweepMs = startedMs + Math.max(sweepMs, tookMs / maxSweepShare);
    }
  }

  function lose(): void {
    previousId = current?.id;
    current = undefined;
    onLost();
    heartbeats.wake();
  }

  const heartbeats = startLoop({
    ports,
    runOnce: heartbeat,
    onFailure: (error, retryMs) => {
      if (current) current.isRenewed = false;
      telemetry.roundFailed('heartbeat', error, retryMs);
    },
  });

  const reaper = startLoop({
    ports,
    runOnce: reapExpired,
    onFailure: (error, retryMs) => telemetry.roundFailed('reaper', error, retryMs),
  });

  const watchdog = startLoop({
    ports,
    runOnce: async () => {
      if (!current) return leaseMs;
      const leftMs = current.heldUntilMs - ports.monotonicMs();
      if (leftMs <= 0) lose();
      return Math.max(leftMs, 0);
    },
    onFailure: () => {},
  });

  return {
    processId: () =>
      current?.isRenewed && ports.monotonicMs() < current.heldUntilMs ? current.id : undefined,
    hasPendingReturns: () =>
      current?.isRenewed !== true ||
      expired.length > 0 ||
      [...current.uncertain.values()].some(({ isChecked }) => !isChecked),
    holds: (processId) => current?.id === processId,
    markUncertain: (claimId) => {
      current?.uncertain.set(claimId, { untilMs: ports.monotonicMs() + uncertainMs, isChecked: false });
      heartbeats.wake();
    },
    wake: () => heartbeats.wake(),
    stop: async () => {
      await Promise.all([heartbeats.stop(), reaper.stop(), watchdog.stop()]);
      const mine = current;
      try {
        await releasePrevious();
        if (mine) await releaseProcess(reserved, await reserved.now(), mine.id);
        const reaped = mine && (await reap(options, mine.id));
        if (mine) survived.add(mine.id);
        await forgiveDeaths().catch((error: unknown) => telemetry.roundFailed('reaper', error, 0));
        return reaped?.count ?? 0;
      } finally {
        await reserved.close();
      }
    },
  };
}
