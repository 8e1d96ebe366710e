import { rateLimitOf } from '../config/rate-limits.ts';
import type { Connector } from '../contract/connector.ts';
import { TransientError } from '../contract/errors.ts';
import {
  type ClaimedJob,
  claim,
  type ExecutorContext,
  rescueForeign,
  statementTimeoutMs,
} from '../pipeline/claim.ts';
import { createClaimPosition } from '../pipeline/claim-position.ts';
import type { Settlement } from '../pipeline/commit.ts';
import { judge } from '../pipeline/judge.ts';
import { type RunEnd, redactorFor, run } from '../pipeline/run.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import { nextDueAt, otherProvidersWaiting } from '../store/claims.ts';
import type { ReservedConnection } from '../store/reserved.ts';
import type { WakeReason } from '../store/wake.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { createRunLog, type RunLog } from '../telemetry/index.ts';
import type { SecretRedactor } from '../values/redact.ts';
import { createCommitQueue } from './commit-queue.ts';
import { startLease } from './lease.ts';

export interface ExecutorOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** Opens the heartbeat's connection; `onWake` is called for each notification. */
  openReserved: (onWake: (reason: WakeReason) => void) => ReservedConnection;
}

export interface WorkTotals {
  claimed: number;
  succeeded: number;
  requeued: number;
  failed: number;
  /** Runs that were cancelled, or lost their lease. */
  lost: number;
  signals: number;
}

export interface Executor extends Loop {
  totals(): WorkTotals;
  /** Resolves when nothing is due and nothing runs. */
  drained(): Promise<void>;
}

const ended = ({ succeeded, requeued, failed }: WorkTotals) => succeeded + requeued + failed;

interface Run {
  job: ClaimedJob;
  abort: AbortController;
  startedMs: number;
  log: RunLog;
  secrecy: SecretRedactor;
  /** `syncing` until the connector returns. */
  state: 'syncing' | 'storing';
}

/** Doubles per round with only locked jobs. */
const contendedPauseMs = 20;
/** Poll interval without LISTEN/NOTIFY, as behind a transaction pooler. */
const unnotifiedPollMs = 500;
const reportIntervalMs = 60_000;

const abortReasons = {
  lost: 'its lease was lost',
  cancelled: 'its job was cancelled',
  shutdown: 'the process is shutting down',
};

const unprocessable = (error: unknown) =>
  `The connector's result could not be processed: ${error instanceof Error ? error.message : 'unreadable'}`;

/** Any number of executors may run in parallel. */
export function startExecutor(options: ExecutorOptions): Executor {
  const { db, config, rateLimit, ports, telemetry, connectors, resources } = options;
  const providers = [...connectors.keys()];
  const timedDb = db.within(statementTimeoutMs(config));
  const runs = new Map<string, Run>();
  const position = createClaimPosition();
  const shutdownDeadline = new AbortController();
  const totals: WorkTotals = { claimed: 0, succeeded: 0, requeued: 0, failed: 0, lost: 0, signals: 0 };
  let mayHaveWork = true;
  let contendedRounds = 0;
  let reportedMs = Number.NEGATIVE_INFINITY;
  /** As of the last query: no job is due, no backoff ends. */
  let nothingDueUntilMs = Number.NEGATIVE_INFINITY;
  const onDrained: (() => void)[] = [];
  const onEmpty: (() => void)[] = [];
  let stopped: Promise<void> | undefined;

  const commitQueue = createCommitQueue({
    ...options,
    isHeld: ({ job }) => runs.get(job.id)?.job === job,
    shutdownDeadline: shutdownDeadline.signal,
    onStored: (settlement, signals) => {
      finish(settlement, signals);
      claims.wake();
    },
    onLost: ({ job }) => forget(job, 'lost'),
    onFollowUps: () => claimNow(),
  });

  const reserved = options.openReserved((reason) => (reason === 'runs' ? lease.wake() : claimNow()));
  const lease = startLease({
    ...options,
    reserved,
    runs: () =>
      [...runs.values()]
        .filter(({ state }) => state === 'syncing')
        .map(({ job }) => ({ jobId: job.id, claimId: job.claimId })),
    onHeld: () => claimNow(),
    onRunLost: ({ jobId, claimId, status }) => {
      const lost = runs.get(jobId);
      if (lost?.state === 'syncing' && lost.job.claimId === claimId)
        forget(lost.job, status === 'cancelled' ? 'cancelled' : 'lost');
    },
    onLost: () => {
      telemetry.leaseLost(runs.size);
      for (const { job } of [...runs.values()]) forget(job, 'lost');
    },
  });

  const claims = startLoop({
    ports,
    runOnce: claimRound,
    onFailure: (error, retryMs) => telemetry.roundFailed('executor', error, retryMs),
  });

  const runTimeouts = startLoop({ ports, runOnce: abortOverdue, onFailure: () => {} });

  function claimNow(): void {
    mayHaveWork = true;
    claims.wake();
  }

  /** Returns the pause until the next round. An idle round is one query. */
  async function claimRound(): Promise<number> {
    const processId = lease.processId();
    const free = Math.min(config.concurrency - runs.size, config.claimBatch);
    if (processId === undefined || free <= 0) return config.pollIntervalMs;
    await reportMissingConnectors();
    // Read before the query, which misses later requeues.
    const isDrained = runs.size === 0 && !lease.hasPendingReturns();
    if (providers.length === 0) return idle(isDrained);
    if (!mayHaveWork) {
      const dueMs = (await nextDueAt(timedDb, providers))?.getTime() ?? Number.POSITIVE_INFINITY;
      nothingDueUntilMs = Math.min(dueMs, ports.now() + config.pollIntervalMs);
      const waitMs = dueMs - ports.now();
      if (waitMs > 0) return idle(isDrained, waitMs);
    }
    const wasDue = !mayHaveWork;
    const claimId = ports.newId();
    const { jobs, foreign, full, progressed } = await claim(options, {
      processId,
      claimId,
      limit: free,
      scanAll: contendedRounds > 0,
      position,
      endsBackoffs: ports.now() >= nothingDueUntilMs,
      takesSuspect: ![...runs.values()].some(({ job }) => job.isSuspect),
    }).catch((error: unknown) => {
      lease.markUncertain(claimId);
      throw error;
    });
    mayHaveWork = full;
    // Deferred jobs may be due before the time of the last query.
    if (progressed) nothingDueUntilMs = Number.NEGATIVE_INFINITY;
    telemetry.ownersCorrected(foreign);
    totals.claimed += jobs.length;
    // If the lease was lost meanwhile, the reaper requeues these jobs.
    if (lease.holds(processId)) for (const job of jobs) start(job);
    telemetry.jobsClaimed(jobs);
    telemetry.running(runs.size);
    contendedRounds = jobs.length === 0 && wasDue && !progressed ? contendedRounds + 1 : 0;
    return contendedRounds === 0
      ? 0
      : Math.min(contendedPauseMs * 2 ** contendedRounds, config.pollIntervalMs);
  }

  function idle(isDrained: boolean, waitMs = Number.POSITIVE_INFINITY): number {
    if (isDrained) for (const resolve of onDrained.splice(0)) resolve();
    const pollMs = reserved.isListening()
      ? config.pollIntervalMs
      : Math.min(config.pollIntervalMs, unnotifiedPollMs);
    return Math.min(waitMs, pollMs);
  }

  async function reportMissingConnectors(): Promise<void> {
    if (ports.monotonicMs() - reportedMs < reportIntervalMs) return;
    reportedMs = ports.monotonicMs();
    const others = await otherProvidersWaiting(timedDb, providers);
    telemetry.ownersCorrected(await rescueForeign(timedDb, new Date(ports.now()), others));
    telemetry.connectorsMissing(others);
  }

  function start(job: ClaimedJob): void {
    const connector = connectors.get(job.providerSlug) as Connector;
    // An earlier run lost its claim, unnoticed so far.
    const earlier = runs.get(job.id);
    if (earlier) forget(earlier.job, 'lost');
    const secrecy = redactorFor(job, connector);
    const current: Run = {
      job,
      abort: new AbortController(),
      startedMs: ports.monotonicMs(),
      log: createRunLog(() => telemetry.runLogger(job), { now: ports.now, hide: secrecy.hide }),
      secrecy,
      state: 'syncing',
    };
    runs.set(job.id, current);
    if (runs.size === 1) runTimeouts.wake();
    const { abort, log } = current;
    void run(job, connector, { abortSignal: abort.signal, log: log.logger, resources, secrecy })
      .then((end) => conclude(current, end))
      // Unforeseen results and thrown values count as failures.
      .catch((error: unknown) => conclude(current, { error: new TransientError(unprocessable(error)) }));
  }

  function conclude(current: Run, end: RunEnd): void {
    const { job, secrecy } = current;
    const { hide } = secrecy;
    // The run lost its claim: discard the result.
    if (runs.get(job.id) !== current) return;
    const policy = rateLimitOf(rateLimit, job.providerSlug);
    const verdict = judge(job, end, { policy, nowMs: ports.now(), random: ports.random(), hide });
    telemetry.runEnded(job, end, verdict, hide);
    current.state = 'storing';
    commitQueue.add({ job, verdict, log: current.log.lines(), hide });
  }

  /** EXE-9. `runs` is in start order, so the first run that is not late determines the wait. */
  async function abortOverdue(): Promise<number> {
    const maxMs = config.maxRunSeconds * 1000;
    for (const { abort, startedMs, state } of runs.values()) {
      const leftMs = startedMs + maxMs - ports.monotonicMs();
      if (leftMs > 0) return leftMs;
      if (state === 'syncing' && !abort.signal.aborted)
        abort.abort(
          new TransientError(`The run took longer than ${config.maxRunSeconds} s and was aborted.`),
        );
    }
    return maxMs;
  }

  function finish({ job, verdict }: Settlement, signals: number): void {
    const current = runs.get(job.id);
    // The run was abandoned while its commit succeeded.
    if (current?.job !== job) return;
    const durationMs = Math.max(0, ports.monotonicMs() - current.startedMs);
    remove(job);
    if (verdict.outcome === 'requeued') nothingDueUntilMs = Number.NEGATIVE_INFINITY;
    totals[verdict.outcome]++;
    totals.signals += signals;
    telemetry.jobFinished(job, verdict, { durationMs, signals });
  }

  function forget(job: ClaimedJob, why: keyof typeof abortReasons): void {
    const lost = runs.get(job.id);
    if (lost?.job !== job) return;
    remove(job);
    totals.lost++;
    lost.abort.abort(new TransientError(`The run was aborted: ${abortReasons[why]}.`));
    telemetry.runLost(job, why);
    claims.wake();
  }

  function remove(job: ClaimedJob): void {
    runs.delete(job.id);
    telemetry.running(runs.size);
    if (runs.size === 0) for (const resolve of onEmpty.splice(0)) resolve();
  }

  /** EXE-10. */
  async function shutDown(): Promise<void> {
    await claims.stop();
    const before = { ...totals };
    const graceTimer = new AbortController();
    const empty = new Promise<void>((resolve) => (runs.size === 0 ? resolve() : onEmpty.push(resolve)));
    await Promise.race([ports.sleep(config.shutdownGraceSeconds * 1000, graceTimer.signal), empty]);
    graceTimer.abort();
    // Ended runs get one commit attempt; unfinished runs are requeued.
    for (const { job, state } of [...runs.values()]) if (state === 'syncing') forget(job, 'shutdown');
    shutdownDeadline.abort();
    await Promise.all([commitQueue.drained(), runTimeouts.stop()]);
    const requeued = await lease.stop().catch((error: unknown) => {
      telemetry.leaseNotReturned(error);
      return 0;
    });
    const finished = ended(totals) - ended(before);
    telemetry.executorStopped({ finished, requeued });
  }

  return {
    wake: () => claimNow(),
    stop: () => {
      stopped ??= shutDown();
      return stopped;
    },
    totals: () => ({ ...totals }),
    drained: () => new Promise((resolve) => void onDrained.push(resolve)),
  };
}
