import {
  type ClaimedJob,
  claim,
  type ExecutorContext,
  rescueForeign,
  statementTimeoutMs,
} from '../pipeline/claim.ts';
import { createClaimPosition } from '../pipeline/claim-position.ts';
import { nextDueAt, otherProvidersWaiting } from '../store/claims.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { Lease } from './lease.ts';
import type { Slots } from './slots.ts';

export interface ClaimRoundsOptions extends ExecutorContext {
  telemetry: Telemetry;
  slots: Slots;
  lease: Lease;
  isListening: () => boolean;
  start: (job: ClaimedJob) => void;
}

export interface ClaimRounds {
  /** Returns the pause until the next round. An idle round is one query. */
  runOnce(): Promise<number>;
  claimed(): number;
  /** A job may be ready. */
  expectWork(): void;
  /** A backoff may end earlier than the last query knew. */
  expectBackoff(): void;
  /** Resolves when nothing is due and nothing runs. */
  drained(): Promise<void>;
}

/** Doubles per round with only locked jobs. */
const contendedPauseMs = 20;
/** Without LISTEN/NOTIFY, as behind a transaction pooler. */
const unnotifiedPollMs = 500;
const reportIntervalMs = 60_000;

export function createClaimRounds(options: ClaimRoundsOptions): ClaimRounds {
  const { db, config, ports, telemetry, connectors, slots, lease, isListening, start } = options;
  const providers = [...connectors.keys()];
  const timedDb = db.within(statementTimeoutMs(config));
  const position = createClaimPosition();
  const onDrained: (() => void)[] = [];
  let claimed = 0;
  let mayHaveWork = true;
  let contendedRounds = 0;
  let reportedMs = Number.NEGATIVE_INFINITY;
  /** As of the last query. */
  let nothingDueUntilMs = Number.NEGATIVE_INFINITY;

  async function runOnce(): Promise<number> {
    const processId = lease.processId();
    const free = Math.min(config.concurrency - slots.count(), config.claimBatch);
    if (processId === undefined || free <= 0) return config.pollIntervalMs;
    await reportMissingConnectors();
    // Before the query, which misses later requeues.
    const isDrained = slots.count() === 0 && !lease.hasPendingReturns();
    if (providers.length === 0) return idle(isDrained, Number.POSITIVE_INFINITY);
    const waitMs = mayHaveWork ? 0 : await nextDueInMs();
    if (waitMs > 0) return idle(isDrained, waitMs);
    const wasDue = !mayHaveWork;
    const { count, progressed } = await claimJobs(processId, free);
    contendedRounds = count === 0 && wasDue && !progressed ? contendedRounds + 1 : 0;
    return contendedRounds === 0
      ? 0
      : Math.min(contendedPauseMs * 2 ** contendedRounds, config.pollIntervalMs);
  }

  async function nextDueInMs(): Promise<number> {
    const dueMs = (await nextDueAt(timedDb, providers))?.getTime() ?? Number.POSITIVE_INFINITY;
    nothingDueUntilMs = Math.min(dueMs, ports.now() + config.pollIntervalMs);
    return dueMs - ports.now();
  }

  async function claimJobs(
    processId: string,
    limit: number,
  ): Promise<{ count: number; progressed: boolean }> {
    const claimId = ports.newId();
    const { jobs, foreign, full, progressed } = await claim(options, {
      processId,
      claimId,
      limit,
      scanAll: contendedRounds > 0,
      position,
      endsBackoffs: ports.now() >= nothingDueUntilMs,
      takesSuspect: !slots.all().some(({ job }) => job.isSuspect),
    }).catch((error: unknown) => {
      lease.markUncertain(claimId);
      throw error;
    });
    mayHaveWork = full;
    // Deferred jobs may be due earlier.
    if (progressed) nothingDueUntilMs = Number.NEGATIVE_INFINITY;
    telemetry.ownersCorrected(foreign);
    claimed += jobs.length;
    // If the lease was lost, the reaper requeues these jobs.
    if (lease.holds(processId)) for (const job of jobs) start(job);
    telemetry.jobsClaimed(jobs);
    telemetry.running(slots.count());
    return { count: jobs.length, progressed };
  }

  function idle(isDrained: boolean, waitMs: number): number {
    if (isDrained) for (const resolve of onDrained.splice(0)) resolve();
    const pollMs = isListening() ? config.pollIntervalMs : Math.min(config.pollIntervalMs, unnotifiedPollMs);
    return Math.min(waitMs, pollMs);
  }

  async function reportMissingConnectors(): Promise<void> {
    if (ports.monotonicMs() - reportedMs < reportIntervalMs) return;
    reportedMs = ports.monotonicMs();
    const others = await otherProvidersWaiting(timedDb, providers);
    telemetry.ownersCorrected(await rescueForeign(timedDb, new Date(ports.now()), others));
    telemetry.connectorsMissing(others);
  }

  return {
    runOnce,
    claimed: () => claimed,
    expectWork: () => {
      mayHaveWork = true;
    },
    expectBackoff: () => {
      nothingDueUntilMs = Number.NEGATIVE_INFINITY;
    },
    drained: () => new Promise((resolve) => void onDrained.push(resolve)),
  };
}
