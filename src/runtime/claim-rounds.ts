import { type ClaimedJob, claim, type ExecutorContext, statementTimeoutMs } from '../pipeline/claim.ts';
import { createClaimPosition } from '../pipeline/claim-position.ts';
import { returnToOwners } from '../pipeline/ownership.ts';
import { nextDueAt, otherProvidersWaiting } from '../store/claims.ts';
import type { Queryable } from '../store/database.ts';
import { isCancelled } from '../store/database-errors.ts';
import { findForeign } from '../store/job-owners.ts';
import type { Telemetry } from '../telemetry/index.ts';
import type { Lease } from './lease.ts';
import type { Slots } from './slots.ts';

export interface ClaimRoundsOptions extends ExecutorContext {
  telemetry: Telemetry;
  slots: Slots;
  lease: Lease;
  isListening: () => boolean;
  start: (job: ClaimedJob) => void;
  /** Per query, on the server. */
  maxQueryMs?: number;
}

export interface ClaimRounds {
  /** Returns the pause. */
  runOnce(): Promise<number>;
  claimed(): number;
  /** A job may be ready. */
  expectWork(): void;
  /** A job may be due, or a backoff may end, earlier than last found. */
  forgetNextDue(): void;
  drained(): Promise<void>;
}

/** Doubles while only locked jobs are found. */
const contendedPauseMs = 20;
/** Without LISTEN (transaction pooler). */
const unnotifiedPollMs = 500;
const reportIntervalMs = 60_000;
/** The query takes 1 ms unless an old snapshot pins dead index entries. */
const defaultMaxQueryMs = 500;
/**
 * Dead entries accumulate gradually: after a fast query, the next skips the transaction with a limit, which
 * triples an idle executor's statements.
 */
const fastQueryMs = 50;

export function createClaimRounds(options: ClaimRoundsOptions): ClaimRounds {
  const { db, config, ports, telemetry, connectors, slots, lease, isListening, start } = options;
  const { maxQueryMs = defaultMaxQueryMs } = options;
  const providers = [...connectors.keys()];
  const timeoutMs = statementTimeoutMs(config);
  const timedDb = db.within(timeoutMs);
  const position = createClaimPosition();
  const onDrained: (() => void)[] = [];
  let claimed = 0;
  let mayHaveWork = true;
  let contendedRounds = 0;
  let reportedMonotonicMs = Number.NEGATIVE_INFINITY;
  let lastQueryWasFast = false;
  let warnedMonotonicMs = Number.NEGATIVE_INFINITY;
  let nothingDueUntilMs = Number.NEGATIVE_INFINITY;
  let dueVersion = 0;
  let nextForeignScan: string | undefined;

  async function runOnce(): Promise<number> {
    const processId = lease.processId();
    const free = Math.min(config.concurrency - slots.count(), config.claimBatch);
    if (processId === undefined || free <= 0) return config.pollIntervalMs;
    await reportMissingConnectors();
    // First: the query misses later requeues.
    const isDrained = slots.count() === 0 && !lease.hasPendingReturns();
    if (providers.length === 0) return idle(isDrained, Number.POSITIVE_INFINITY);
    const wasDue = !mayHaveWork;
    if (wasDue) {
      const waitMs = await nextDueInMs();
      if (waitMs === undefined) return claimAfterPoll();
      if (waitMs > 0) return idle(isDrained, waitMs);
    }
    const { count, progressed } = await claimJobs(processId, free);
    contendedRounds = count === 0 && wasDue && !progressed ? contendedRounds + 1 : 0;
    return contendedRounds === 0
      ? 0
      : Math.min(contendedPauseMs * 2 ** contendedRounds, config.pollIntervalMs);
  }

  /** Undefined: the server cancelled it. A drain waits longer. */
  function limitedQuery<T>(read: (tx: Queryable) => Promise<T>): Promise<{ found: T } | undefined> {
    const statementTimeoutMs = onDrained.length > 0 ? timeoutMs : maxQueryMs;
    return db
      .transaction(async (tx) => ({ found: await read(tx) }), {
        timeoutMs,
        statementTimeoutMs,
        readOnly: true,
      })
      .catch((error: unknown) => {
        if (!isCancelled(error)) throw error;
        warnOfCancel(statementTimeoutMs);
        return undefined;
      });
  }

  function warnOfCancel(limitMs: number): void {
    if (ports.monotonicMs() - warnedMonotonicMs < reportIntervalMs) return;
    warnedMonotonicMs = ports.monotonicMs();
    telemetry.dueQueryCancelled(limitMs, pollMs());
  }

  function claimAfterPoll(): number {
    mayHaveWork = true;
    return pollMs();
  }

  async function nextDueInMs(): Promise<number | undefined> {
    const startedMs = ports.monotonicMs();
    const versionBefore = dueVersion;
    const read = (tx: Queryable) => nextDueAt(tx, providers);
    const next = lastQueryWasFast ? { found: await read(timedDb) } : await limitedQuery(read);
    lastQueryWasFast = next !== undefined && ports.monotonicMs() - startedMs < fastQueryMs;
    if (!next) return undefined;
    const dueMs = next.found?.getTime() ?? Number.POSITIVE_INFINITY;
    // A notification during the query: its job may be missing from the snapshot.
    if (dueVersion === versionBefore)
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
    // Otherwise the reaper requeues them.
    if (lease.holds(processId)) for (const job of jobs) start(job);
    telemetry.jobsClaimed(jobs);
    telemetry.running(slots.count());
    return { count: jobs.length, progressed };
  }

  function idle(isDrained: boolean, waitMs: number): number {
    if (isDrained) for (const resolve of onDrained.splice(0)) resolve();
    return Math.min(waitMs, pollMs());
  }

  function pollMs(): number {
    return isListening() ? config.pollIntervalMs : Math.min(config.pollIntervalMs, unnotifiedPollMs);
  }

  async function reportMissingConnectors(): Promise<void> {
    if (ports.monotonicMs() - reportedMonotonicMs < reportIntervalMs) return;
    reportedMonotonicMs = ports.monotonicMs();
    const others = (await limitedQuery((tx) => otherProvidersWaiting(tx, providers)))?.found;
    if (!others) return;
    if (others.length > 0) await correctForeign();
    telemetry.connectorsMissing(others);
  }

  /** EXE-13: of providers without a connector here, which perhaps no claim finds. */
  async function correctForeign(): Promise<void> {
    const read = (tx: Queryable) => findForeign(tx, { served: providers, from: nextForeignScan });
    const scan = (await limitedQuery(read))?.found;
    if (!scan) return;
    telemetry.ownersCorrected(await returnToOwners(timedDb, new Date(ports.now()), scan.foreign));
    nextForeignScan = scan.next;
  }

  return {
    runOnce,
    claimed: () => claimed,
    expectWork: () => {
      mayHaveWork = true;
    },
    forgetNextDue: () => {
      dueVersion++;
      nothingDueUntilMs = Number.NEGATIVE_INFINITY;
    },
    drained: () => new Promise((resolve) => void onDrained.push(resolve)),
  };
}
