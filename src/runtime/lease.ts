import { hostname } from 'node:os';
import type { ExecutorContext } from '../pipeline/claim.ts';
import { reap } from '../pipeline/reap.ts';
import { startLoop } from '../platform/loop.ts';
import {
  type ClaimKey,
  type Heartbeat,
  heartbeat,
  insertProcess,
  type LostRun,
  releaseProcess,
} from '../store/processes.ts';
import type { ReservedConnection } from '../store/reserved.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { claimingId, hasPendingReturns, type LeaseEvent, noLease, reduceLease } from './lease-state.ts';
import { startReaper } from './reaper.ts';

export interface LeaseOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** Dedicated: a busy pool delays no heartbeat. */
  reserved: ReservedConnection;
  runs: () => ClaimKey[];
  /** Lease held or jobs requeued: claim. */
  onHeld: () => void;
  onRunLost: (run: LostRun) => void;
  onLost: () => void;
}

export interface Lease {
  /** Undefined after a failed heartbeat or expiry. */
  processId(): string | undefined;
  hasPendingReturns(): boolean;
  holds(processId: string): boolean;
  /** If it committed, its jobs are requeued. */
  markUncertain(claimId: string): void;
  wake(): void;
  /** Returns how many jobs were requeued. */
  stop(): Promise<number>;
}

function heartbeatIntervalMs(leaseSeconds: number): number {
  return Math.min(5000, leaseSeconds * 200);
}

/**
 * EXE-9: one statement renews the lease and finds dead processes and lost claims. An expired lease loses its
 * runs, perhaps claimed by others; the process continues under a new id.
 */
export function startLease(options: LeaseOptions): Lease {
  const { db, reserved, config, ports, telemetry, runs, onHeld, onRunLost, onLost } = options;
  const leaseMs = config.leaseSeconds * 1000;
  let state = noLease;
  const apply = (event: LeaseEvent) => {
    state = reduceLease(state, event);
  };

  /** An in-flight heartbeat may have renewed it. */
  async function releasePrevious(): Promise<void> {
    const id = state.previousId;
    if (id === undefined) return;
    await releaseProcess(reserved, await reserved.now(), id);
    apply({ type: 'released', id });
    reaper.wake();
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
    apply({ type: 'registered', id, heldUntilMonotonicMs: sentMs + leaseMs });
    watchdog.wake();
  }

  /** The previous heartbeat's time only shortens the lease. */
  async function sendHeartbeat(id: string): Promise<Heartbeat> {
    const self = { id, clockSkewSeconds: db.clock.skewSeconds() };
    let answer: Heartbeat | undefined;
    await db.clock.reading(async () => {
      answer = await heartbeat(reserved, new Date(db.clock.nowMs()), config.leaseSeconds, self, runs());
      return answer.now_ms;
    });
    return answer as Heartbeat;
  }

  async function renew(): Promise<number> {
    if (!state.current) await register();
    const id = state.current?.id;
    if (id === undefined) return 0;
    const sentMs = ports.monotonicMs();
    const { held, expired, lost } = await sendHeartbeat(id);
    // The watchdog gave it up meanwhile.
    if (state.current?.id !== id) return 0;
    if (!held) {
      lose();
      return 0;
    }
    const wasConfirmed = state.current.isConfirmed;
    apply({ type: 'renewed', id, heldUntilMonotonicMs: sentMs + leaseMs, expired });
    if (!wasConfirmed) onHeld();
    for (const run of lost) onRunLost(run);
    if (expired.length > 0 || state.current.uncertain.size > 0) reaper.wake();
    return heartbeatIntervalMs(config.leaseSeconds);
  }

  function lose(): void {
    apply({ type: 'lost' });
    onLost();
    heartbeats.wake();
  }

  async function watch(): Promise<number> {
    if (!state.current) return leaseMs;
    const leftMs = state.current.heldUntilMonotonicMs - ports.monotonicMs();
    if (leftMs <= 0) lose();
    return Math.max(leftMs, 0);
  }

  const heartbeats = startLoop({
    ports,
    runOnce: renew,
    onFailure: (error, retryMs) => {
      apply({ type: 'heartbeatFailed' });
      telemetry.roundFailed('heartbeat', error, retryMs);
    },
  });
  const reaper = startReaper({ ...options, lease: () => state, apply, onRequeued: onHeld });
  const watchdog = startLoop({ ports, runOnce: watch, onFailure: () => {} });

  return {
    processId: () => claimingId(state, ports.monotonicMs()),
    hasPendingReturns: () => hasPendingReturns(state),
    holds: (processId) => state.current?.id === processId,
    markUncertain: (claimId) => {
      apply({ type: 'claimUncertain', claimId, monotonicMs: ports.monotonicMs() });
      heartbeats.wake();
    },
    wake: () => heartbeats.wake(),
    stop: async () => {
      await Promise.all([heartbeats.stop(), reaper.stop(), watchdog.stop()]);
      const mine = state.current;
      try {
        await releasePrevious();
        if (mine) await releaseProcess(reserved, await reserved.now(), mine.id);
        const reaped = mine && (await reap(options, mine.id));
        if (mine) apply({ type: 'released', id: mine.id });
        await reaper.forgiveDeaths().catch((error: unknown) => telemetry.roundFailed('reaper', error, 0));
        return reaped?.count ?? 0;
      } finally {
        await reserved.close();
      }
    },
  };
}
