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
  /** A connection that nobody else uses, so that a busy pool cannot keep a heartbeat waiting. */
  reserved: ReservedConnection;
  /** The runs that are under way now. */
  runs: () => ClaimKey[];
  /** This process may claim, from now on. */
  onHeld: () => void;
  /** A run is no longer this process's: its job is now in `status`. */
  onRunLost: (run: LostRun) => void;
  /** The lease is gone, and every run with it. */
  onLost: () => void;
}

export interface Lease {
  /** Under which id to claim; undefined while the lease is not certain. */
  processId(): string | undefined;
  /** Whether, as far as is known, no job waits to be put back. */
  isTidy(): boolean;
  /** Whether the lease under this id has not been lost, certain or not. */
  holds(processId: string): boolean;
  /** It is not known whether this claim succeeded: if it did, what it took is put back. */
  doubt(claimId: string): void;
  /** Beats now rather than at the next turn. */
  wake(): void;
  /** Gives the lease up and puts back every job that is still under it; returns how many. */
  stop(): Promise<number>;
}

/** How often dead processes are looked for, and one's own lease renewed. A fifth of a short lease is enough for it. */
function beatMs(leaseSeconds: number): number {
  return Math.min(5000, leaseSeconds * 200);
}

/** How often jobs are looked for whose process somebody deleted by hand. */
const sweepMs = 60_000;
/**
 * The most of the time that this look takes: beside an old snapshot it passes everything that was run since, and what it looks
 * for hardly ever happens.
 */
const sweepShare = 1 / 100;
/** A claim of which it is not known whether it succeeded. */
interface Doubt {
  untilMs: number;
  /** Whether it has been looked into. */
  seen: boolean;
}

/** A commit that was cut off may still be on its way: looked for again and again for this long. */
const doubtMs = 60_000;

/**
 * EXE-9: this process's lease. Renewed by one statement that also finds dead processes and runs that were taken away.
 * Whatever the database says, after a lease without a renewal the runs count as lost: somebody else may have them by then.
 * A lease once lost is never renewed; the process goes on under a new id.
 */
export function startLease(options: LeaseOptions): Lease {
  const { db, reserved, config, ports, telemetry, runs, onHeld, onRunLost, onLost } = options;
  const leaseMs = config.leaseSeconds * 1000;
  let expired: string[] = [];
  let nextSweepMs = Number.NEGATIVE_INFINITY;
  let current: { id: string; heldUntilMs: number; beating: boolean; doubts: Map<string, Doubt> } | undefined;
  /** The lease before this one, until it is known to be over. */
  let former: string | undefined;
  /** Leases that were lost while this process lived: what was counted as its death is taken back. */
  const survived = new Set<string>();

  /** A beat that was on its way when the watchdog gave up may have renewed it after all: nobody is to wait for that. */
  async function endFormer(): Promise<void> {
    if (former === undefined) return;
    await releaseProcess(reserved, await reserved.now(), former);
    survived.add(former);
    former = undefined;
    reaper.wake();
  }

  /** EXE-9. Another process has counted the death before `endFormer`, or never will. */
  async function takeBackDeaths(): Promise<void> {
    for (const id of survived) {
      // As long as a reap may take: on a socket that went silent, everything else of the reaper waits behind it.
      await forgive(db, id, statementTimeoutMs(config));
      survived.delete(id);
    }
  }

  async function register(): Promise<void> {
    await endFormer();
    const id = ports.newId();
    const sentMs = ports.monotonicMs();
    const { leaseSeconds, concurrency } = config;
    const providers = [...options.connectors.keys()];
    const now = await reserved.now();
    const self = { id, host: hostname(), pid: process.pid, concurrency, providers };
    await insertProcess(reserved, now, leaseSeconds, { ...self, clockSkewSeconds: db.clock.skewSeconds() });
    current = { id, heldUntilMs: sentMs + leaseMs, beating: false, doubts: new Map() };
    watchdog.wake();
  }

  /** By the clock as the beat before has read it: an older time makes the lease shorter, never longer. */
  async function beatNow(id: string): Promise<Beat> {
    const self = { id, clockSkewSeconds: db.clock.skewSeconds() };
    let answer: Beat | undefined;
    await db.clock.reading(async () => {
      answer = await beat(reserved, new Date(db.clock.nowMs()), config.leaseSeconds, self, runs());
      return answer.now_ms;
    });
    return answer as Beat;
  }

  async function round(): Promise<number> {
    if (!current) await register();
    const mine = current;
    if (!mine) return 0;
    const sentMs = ports.monotonicMs();
    const answer = await beatNow(mine.id);
    // The watchdog was faster.
    if (current !== mine) return 0;
    if (!answer.held) {
      lose();
      return 0;
    }
    const wasSilent = !mine.beating;
    Object.assign(mine, { heldUntilMs: sentMs + leaseMs, beating: true });
    expired = answer.expired;
    if (wasSilent) onHeld();
    for (const run of answer.lost) onRunLost(run);
    if (expired.length > 0 || mine.doubts.size > 0) reaper.wake();
    return beatMs(config.leaseSeconds);
  }

  /** A loop of its own, on the pool: neither a busy pool nor what goes wrong here may keep the heartbeat waiting. */
  async function cleanUp(): Promise<number> {
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
    for (const [claimId, doubt] of mine?.doubts ?? []) {
      await returnJobs({ db }, { processId: mine?.id as string, claimId });
      if (!doubt.seen) onHeld();
      doubt.seen = true;
      if (doubt.untilMs < ports.monotonicMs()) mine?.doubts.delete(claimId);
    }
    // Last: a connection that another session holds must not keep dead processes from being reaped.
    await takeBackDeaths();
    return sweepMs;
  }

  async function sweep(): Promise<void> {
    const startedMs = ports.monotonicMs();
    try {
      for (const processId of await missingProcesses(db.within(statementTimeoutMs(config))))
        telemetry.processReaped(processId, await returnJobs({ db }, { processId }));
    } finally {
      const tookMs = ports.monotonicMs() - startedMs;
      nextSweepMs = startedMs + Math.max(sweepMs, tookMs / sweepShare);
    }
  }

  function lose(): void {
    former = current?.id;
    current = undefined;
    onLost();
    heart.wake();
  }

  const heart = startLoop({
    ports,
    runOnce: round,
    onFailure: (error, retryMs) => {
      if (current) current.beating = false;
      telemetry.roundFailed('heartbeat', error, retryMs);
    },
  });

  const reaper = startLoop({
    ports,
    runOnce: cleanUp,
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
    processId: () => (current?.beating && ports.monotonicMs() < current.heldUntilMs ? current.id : undefined),
    isTidy: () =>
      current?.beating === true &&
      expired.length === 0 &&
      ![...current.doubts.values()].some(({ seen }) => !seen),
    holds: (processId) => current?.id === processId,
    doubt: (claimId) => {
      current?.doubts.set(claimId, { untilMs: ports.monotonicMs() + doubtMs, seen: false });
      heart.wake();
    },
    wake: () => heart.wake(),
    stop: async () => {
      await Promise.all([heart.stop(), reaper.stop(), watchdog.stop()]);
      const mine = current;
      try {
        await endFormer();
        if (mine) await releaseProcess(reserved, await reserved.now(), mine.id);
        const reaped = mine && (await reap(options, mine.id));
        if (mine) survived.add(mine.id);
        await takeBackDeaths().catch((error: unknown) => telemetry.roundFailed('reaper', error, 0));
        return reaped?.count ?? 0;
      } finally {
        await reserved.close();
      }
    },
  };
}
