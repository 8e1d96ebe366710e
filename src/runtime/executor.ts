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
import { createLanes } from '../pipeline/claim-position.ts';
import type { Settlement } from '../pipeline/commit.ts';
import { judge } from '../pipeline/judge.ts';
import { type RunEnd, run, secrecyOf } from '../pipeline/run.ts';
import { type Loop, startLoop } from '../platform/loop.ts';
import { nextDueAt, otherProvidersWaiting } from '../store/claims.ts';
import type { ReservedConnection } from '../store/reserved.ts';
import type { WakeReason } from '../store/wake.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { createRunLog, type RunLog } from '../telemetry/index.ts';
import type { Secrecy } from '../values/redact.ts';
import { createCommitQueue } from './commit-queue.ts';
import { startLease } from './lease.ts';

export interface ExecutorOptions extends ExecutorContext {
  telemetry: Telemetry;
  /** Opens the connection for the heartbeat; `onWake` is called whenever executors are told to look. */
  openReserved: (onWake: (reason: WakeReason) => void) => ReservedConnection;
}

/** What an executor has done. */
export interface WorkTotals {
  claimed: number;
  succeeded: number;
  requeued: number;
  failed: number;
  /** Runs that were taken away: cancelled, or their lease was lost. */
  lost: number;
  /** New signals stored. */
  signals: number;
}

export interface Executor extends Loop {
  totals(): WorkTotals;
  /** Resolves as soon as nothing is due and nothing runs. */
  drained(): Promise<void>;
}

const ended = ({ succeeded, requeued, failed }: WorkTotals) => succeeded + requeued + failed;

interface Run {
  job: ClaimedJob;
  abort: AbortController;
  startedMs: number;
  log: RunLog;
  secrecy: Secrecy;
  /** `syncing` until the connector has ended; a lost run is forgotten at once. */
  state: 'syncing' | 'storing';
}

/** The pause after a claim that got nothing though something is due, because others hold it; doubles while that lasts. */
const contendedMs = 20;
/** The poll where no notifications arrive, as behind a transaction pooler: two look-ups a second by every idle executor. */
const unheardPollMs = 500;
/** How often providers without a connector are looked for. */
const reportMs = 60_000;

const abortReasons = {
  lost: 'its lease was lost',
  cancelled: 'its job was cancelled',
  shutdown: 'the process is shutting down',
};

const strange = (error: unknown) =>
  `The connector's answer could not be understood: ${error instanceof Error ? error.message : 'unreadable'}`;

/** Runs due jobs until stopped. Any number of executors may run at once, in one process or in many. */
export function startExecutor(options: ExecutorOptions): Executor {
  const { db, config, rateLimit, ports, telemetry, connectors, resources } = options;
  const providers = [...connectors.keys()];
  const quickly = db.within(statementTimeoutMs(config));
  const runs = new Map<string, Run>();
  const lanes = createLanes();
  const givenUp = new AbortController();
  const totals: WorkTotals = { claimed: 0, succeeded: 0, requeued: 0, failed: 0, lost: 0, signals: 0 };
  let expectsWork = true;
  let emptyHanded = 0;
  let reportedMs = Number.NEGATIVE_INFINITY;
  /** Until then nothing comes due, and no time of backing off is over: the database said so not long ago. */
  let quietUntilMs = Number.NEGATIVE_INFINITY;
  const onDrained: (() => void)[] = [];
  const onEmpty: (() => void)[] = [];
  let stopped: Promise<void> | undefined;

  const settler = createCommitQueue({
    ...options,
    isHeld: ({ job }) => runs.get(job.id)?.job === job,
    givenUp: givenUp.signal,
    onStored: (settlement, signals) => {
      finish(settlement, signals);
      claims.wake();
    },
    onLost: ({ job }) => forget(job, 'lost'),
    onFollowUps: () => lookNow(),
  });

  const reserved = options.openReserved((reason) => (reason === 'runs' ? lease.wake() : lookNow()));
  const lease = startLease({
    ...options,
    reserved,
    runs: () =>
      [...runs.values()]
        .filter(({ state }) => state === 'syncing')
        .map(({ job }) => ({ jobId: job.id, claimId: job.claimId })),
    onHeld: () => lookNow(),
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

  const late = startLoop({ ports, runOnce: abortLate, onFailure: () => {} });

  function lookNow(): void {
    expectsWork = true;
    claims.wake();
  }

  /** Fills the free slots, or finds out when to look again. While nothing is due that is a single query. */
  async function claimRound(): Promise<number> {
    const processId = lease.processId();
    const free = Math.min(config.concurrency - runs.size, config.claimBatch);
    if (processId === undefined || free <= 0) return config.pollIntervalMs;
    await reportMissingConnectors();
    // Asked before the database is: what ends or is put back meanwhile is not in its answer.
    const isQuiet = runs.size === 0 && lease.isTidy();
    if (providers.length === 0) return idle(isQuiet);
    if (!expectsWork) {
      const dueMs = (await nextDueAt(quickly, providers))?.getTime() ?? Number.POSITIVE_INFINITY;
      quietUntilMs = Math.min(dueMs, ports.now() + config.pollIntervalMs);
      const waitMs = dueMs - ports.now();
      if (waitMs > 0) return idle(isQuiet, waitMs);
    }
    const wasSure = !expectsWork;
    const claimId = ports.newId();
    const { jobs, foreign, full, progressed } = await claim(options, {
      processId,
      claimId,
      limit: free,
      thorough: emptyHanded > 0,
      lanes,
      endsBackoffs: ports.now() >= quietUntilMs,
      takesSuspect: ![...runs.values()].some(({ job }) => job.isSuspect),
    }).catch((error: unknown) => {
      lease.doubt(claimId);
      throw error;
    });
    expectsWork = full;
    // What was deferred may come back before the time that the database last named.
    if (progressed) quietUntilMs = Number.NEGATIVE_INFINITY;
    telemetry.ownersCorrected(foreign);
    totals.claimed += jobs.length;
    // Lost while claiming: those jobs are put back with all others of the old lease.
    if (lease.holds(processId)) for (const job of jobs) start(job);
    telemetry.jobsClaimed(jobs);
    telemetry.running(runs.size);
    emptyHanded = jobs.length === 0 && wasSure && !progressed ? emptyHanded + 1 : 0;
    return emptyHanded === 0 ? 0 : Math.min(contendedMs * 2 ** emptyHanded, config.pollIntervalMs);
  }

  function idle(isQuiet: boolean, waitMs = Number.POSITIVE_INFINITY): number {
    if (isQuiet) for (const resolve of onDrained.splice(0)) resolve();
    const pollMs = reserved.isListening()
      ? config.pollIntervalMs
      : Math.min(config.pollIntervalMs, unheardPollMs);
    return Math.min(waitMs, pollMs);
  }

  async function reportMissingConnectors(): Promise<void> {
    if (ports.monotonicMs() - reportedMs < reportMs) return;
    reportedMs = ports.monotonicMs();
    const others = await otherProvidersWaiting(quickly, providers);
    telemetry.ownersCorrected(await rescueForeign(quickly, new Date(ports.now()), others));
    telemetry.connectorsMissing(others);
  }

  function start(job: ClaimedJob): void {
    const connector = connectors.get(job.providerSlug) as Connector;
    // A run of this job that was taken away, which this process has not noticed yet.
    const earlier = runs.get(job.id);
    if (earlier) forget(earlier.job, 'lost');
    const secrecy = secrecyOf(job, connector);
    const current: Run = {
      job,
      abort: new AbortController(),
      startedMs: ports.monotonicMs(),
      log: createRunLog(() => telemetry.runLogger(job), secrecy.hide),
      secrecy,
      state: 'syncing',
    };
    runs.set(job.id, current);
    if (runs.size === 1) late.wake();
    const { abort, log } = current;
    void run(job, connector, { abortSignal: abort.signal, log: log.logger, resources, secrecy })
      .then((end) => conclude(current, end))
      // What a connector returned or threw may be stranger than anything that was thought of: then it is a failure too.
      .catch((error: unknown) => conclude(current, { error: new TransientError(strange(error)) }));
  }

  function conclude(current: Run, end: RunEnd): void {
    const { job, secrecy } = current;
    const { hide } = secrecy;
    // Lost meanwhile: whatever it found is somebody else's to find.
    if (runs.get(job.id) !== current) return;
    const policy = rateLimitOf(rateLimit, job.providerSlug);
    const verdict = judge(job, end, { policy, nowMs: ports.now(), random: ports.random(), hide });
    telemetry.runEnded(job, end, verdict, hide);
    current.state = 'storing';
    settler.add({ job, verdict, log: current.log.lines(), hide });
  }

  /**
   * EXE-9: a run past its time is a failure, whether the connector listens to its signal or not. One loop for all runs: they
   * are kept in the order in which they started, so the first that is not late says how long to wait.
   */
  async function abortLate(): Promise<number> {
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
    // Given up in the moment in which it was stored after all.
    if (current?.job !== job) return;
    const durationMs = Math.max(0, ports.monotonicMs() - current.startedMs);
    remove(job);
    if (verdict.outcome === 'requeued') quietUntilMs = Number.NEGATIVE_INFINITY;
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

  /** EXE-10: finishes what can be finished within the grace time; the rest goes back as if it had not been claimed. */
  async function shutDown(): Promise<void> {
    await claims.stop();
    const before = { ...totals };
    const over = new AbortController();
    const empty = new Promise<void>((resolve) => (runs.size === 0 ? resolve() : onEmpty.push(resolve)));
    await Promise.race([ports.sleep(config.shutdownGraceSeconds * 1000, over.signal), empty]);
    over.abort();
    // What has ended is stored, if that succeeds at once; what has not goes back.
    for (const { job, state } of [...runs.values()]) if (state === 'syncing') forget(job, 'shutdown');
    givenUp.abort();
    await Promise.all([settler.drained(), late.stop()]);
    const putBack = await lease.stop().catch((error: unknown) => {
      telemetry.leaseNotReturned(error);
      return 0;
    });
    const finished = ended(totals) - ended(before);
    telemetry.executorStopped({ finished, putBack });
  }

  return {
    wake: () => lookNow(),
    stop: () => {
      stopped ??= shutDown();
      return stopped;
    },
    totals: () => ({ ...totals }),
    drained: () => new Promise((resolve) => void onDrained.push(resolve)),
  };
}
