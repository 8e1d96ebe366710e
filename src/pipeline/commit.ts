import { insertAttempts, type LogLine, type NewAttempt, trimAttempts } from '../store/attempts.ts';
import type { Owner } from '../store/connections.ts';
import { enableTriggers, type Queryable } from '../store/database.ts';
import {
  type JobRequest,
  lockConnections,
  lockRuns,
  queueJobs,
  type RunRow,
  settleJobs,
  unblockSiblings,
  writeConnections,
} from '../store/settlements.ts';
import { insertSignals, type NewSignal } from '../store/signals.ts';
import { wakeExecutors } from '../store/wake.ts';
import { type ClaimedJob, type ExecutorContext, statementTimeoutMs } from './claim.ts';
import type { Verdict } from './judge.ts';
import { requeueLost } from './lost-jobs.ts';
import type { CheckedSignal } from './result.ts';
import { addStatistics, measure } from './statistics.ts';
import { rerunPriorityOf } from './trigger.ts';
import { markUnauthorized } from './unauthorized.ts';

/** Then the commit queue retries the run alone. */
const commitLockTimeoutMs = 1000;

export interface Settlement {
  job: ClaimedJob;
  verdict: Verdict;
  log?: LogLine[] | undefined;
  /** Stored if Postgres rejects the verdict. */
  ifRejected: (error: unknown) => Verdict;
}

export interface Committed {
  /** By job; includes unacknowledged commits. */
  stored: Map<string, { signals: number }>;
  followUps: number;
}

/** EXE-5: one transaction. Runs without their claim or connection write nothing and are not in `stored`. */
export async function commit(context: ExecutorContext, settlements: Settlement[]): Promise<Committed> {
  const { db, ports, config } = context;
  return db.transaction(
    async (tx) => {
      const { now } = tx;
      const { owners, rows } = await lockRunsOf(tx, settlements);
      const claimed = settlements.filter(({ job }) => rows.get(job.id)?.claim_id === job.claimId);
      const running = claimed.filter(({ job }) => isRunning(rows.get(job.id)));
      const isMoved = ({ job }: Settlement) => !isOwner(owners.get(job.connectionId), job);
      const holding = running.filter((settlement) => !isMoved(settlement));
      // Settled by an unacknowledged commit.
      const earlier = claimed.filter(({ job }) => !isRunning(rows.get(job.id)));
      const stored = new Map(earlier.map(({ job }) => [job.id, { signals: 0 }]));
      if (running.length === 0) return { stored, followUps: 0 };

      await writeConnections(tx, now, holding.map(connectionWrite));
      const counts = await storeSignals(tx, now, holding, () => ports.newId());
      const followUps = holding.flatMap((settlement) =>
        followUpsOf(settlement, rows.get(settlement.job.id), () => ports.newId()),
      );
      await endJobs(tx, now, { holding, counts, followUps });
      const reruns = await markUnauthorized(ports, tx, now, holding);
      await recordAttempts(tx, now, holding);
      await returnMoved(tx, now, running.filter(isMoved));
      await addStatistics(tx, now, ports.random(), measure(holding, counts, now));
      for (const { job } of holding) stored.set(job.id, { signals: counts.get(job.id) ?? 0 });
      return { stored, followUps: followUps.length + reruns };
    },
    {
      timeoutMs: statementTimeoutMs(config),
      lockTimeoutMs: commitLockTimeoutMs,
      triggers: 'off',
      plans: 'generic',
    },
  );
}

interface LockedRuns {
  owners: ReadonlyMap<string, Owner>;
  rows: ReadonlyMap<string, RunRow>;
}

/** The fence: a locked claim cannot change. */
async function lockRunsOf(tx: Queryable, settlements: Settlement[]): Promise<LockedRuns> {
  const owners = await lockConnections(
    tx,
    settlements.map(({ job }) => job.connectionId),
  );
  const rows = await lockRuns(
    tx,
    settlements.map(({ job }) => job.id),
  );
  return {
    owners: new Map(owners.map((owner) => [owner.id, owner])),
    rows: new Map(rows.map((row) => [row.id, row])),
  };
}

const isRunning = (row: RunRow | undefined) => row?.status === 'running';
const isOwner = (owner: Owner | undefined, { tenantId, providerSlug }: ClaimedJob) =>
  owner?.tenant_id === tenantId && owner.provider_slug === providerSlug;

/** EXE-13: of connections with another owner since the claim. The next claim corrects and reports them. */
async function returnMoved(tx: Queryable, now: Date, moved: Settlement[]): Promise<void> {
  if (moved.length === 0) return;
  await enableTriggers(tx);
  await requeueLost(
    tx,
    now,
    moved.map(({ job }) => job),
  );
  await wakeExecutors(tx);
}

interface JobEnds {
  holding: Settlement[];
  /** New signals by job. */
  counts: ReadonlyMap<string, number>;
  followUps: JobRequest[];
}

/** Triggers are off for jobs that end; they decide whether requeued jobs and follow-ups are blocked. */
async function endJobs(tx: Queryable, now: Date, { holding, counts, followUps }: JobEnds): Promise<void> {
  const isRequeued = ({ verdict }: Settlement) => verdict.outcome === 'requeued';
  const end = (settlement: Settlement) => jobEnd(settlement, counts.get(settlement.job.id) ?? 0);
  const requeued = holding.filter(isRequeued);
  const ended = holding.filter((settlement) => !isRequeued(settlement));
  await unblockSiblings(tx, await settleJobs(tx, now, ended.map(end)));
  if (requeued.length + followUps.length === 0) return;
  await enableTriggers(tx);
  // A trigger unblocks their siblings.
  await settleJobs(tx, now, requeued.map(end));
  await queueJobs(tx, now, followUps);
}

function connectionWrite({ job, verdict }: Settlement) {
  const ended = job.type === 'incremental' && verdict.outcome !== 'requeued';
  const failure = verdict.error?.kind ?? null;
  return { connectionId: job.connectionId, cursor: verdict.cursor, ended, failure };
}

const statusOf = { succeeded: 'succeeded', failed: 'failed', requeued: 'queued' } as const;
/** Range of `int`. */
const maxAttempts = 2 ** 31 - 1;

function jobEnd({ job, verdict }: Settlement, signals: number) {
  const failures = verdict.outcome === 'succeeded' || isParked(verdict) ? 0 : 1;
  return {
    jobId: job.id,
    status: statusOf[verdict.outcome],
    attempts: Math.min(job.attempts + failures, maxAttempts),
    retryAfter: verdict.retryAfter,
    error: errorText(verdict),
    signals,
    nextCursor: verdict.cursor,
  };
}

const isParked = ({ error }: Verdict) => error?.parked === true;
const errorText = ({ error }: Verdict) => (error ? JSON.stringify(error) : null);

const maxKeptFailures = 100;

/** Retried failures and connector logs. Not parked runs, which may repeat indefinitely. */
async function recordAttempts(tx: Queryable, now: Date, settlements: Settlement[]): Promise<void> {
  const recorded = settlements
    .filter(({ verdict }) => !isParked(verdict))
    .filter(({ verdict, log }) => verdict.outcome === 'requeued' || log !== undefined);
  await insertAttempts(tx, now, recorded.map(attemptOf));
  const overLimit = recorded.filter(({ job }) => job.attempts > maxKeptFailures);
  await trimAttempts(
    tx,
    overLimit.map(({ job }) => job.id),
  );
}

function attemptOf({ job, verdict, log }: Settlement): NewAttempt {
  return {
    jobId: job.id,
    claimId: job.claimId,
    outcome: verdict.outcome === 'requeued' ? 'retried' : verdict.outcome,
    startedAt: job.startedAt,
    retryAfter: verdict.retryAfter,
    error: errorText(verdict),
    log: log ? JSON.stringify(log) : null,
  };
}

/** Bounds the statement's duration. */
const signalsPerStatement = 2000;
/** Bounds memory: the driver copies parameters several times. */
const bytesPerStatement = 4 * 1024 * 1024;

interface JobSignals {
  job: Pick<ClaimedJob, 'id' | 'tenantId' | 'providerSlug' | 'connectionId'>;
  verdict: { signals: readonly CheckedSignal[] };
}

export async function storeSignals(
  tx: Queryable,
  now: Date,
  settlements: readonly JobSignals[],
  newId: () => string,
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const batch = newId();
  let chunk: NewSignal[] = [];
  let bytes = 0;
  const flush = async () => {
    if (chunk.length === 0) return;
    for (const [jobId, stored] of await insertSignals(tx, now, batch, chunk))
      counts.set(jobId, (counts.get(jobId) ?? 0) + stored);
    chunk = [];
    bytes = 0;
  };
  for (const { job, verdict } of settlements) {
    const { tenantId, providerSlug, connectionId, id: jobId } = job;
    for (const signal of verdict.signals) {
      chunk.push({ id: newId(), tenantId, providerSlug, connectionId, jobId, ...signal });
      bytes += signal.payload.length;
      if (chunk.length >= signalsPerStatement || bytes >= bytesPerStatement) await flush();
    }
  }
  await flush();
  return counts;
}

/** EXE-6 and the requested rerun, merged if of one type. */
function followUpsOf(
  { job, verdict }: Settlement,
  held: RunRow | undefined,
  newId: () => string,
): JobRequest[] {
  const { tenantId, providerSlug, connectionId } = job;
  const common = { tenantId, providerSlug, connectionId };
  const hinted = held?.hinted ?? false;
  const rerun = held && verdict.outcome !== 'requeued' ? rerunPriorityOf(held) : undefined;
  const { followUp } = verdict;
  const jobs: JobRequest[] = [];
  if (followUp) {
    const isRerun = rerun !== undefined && followUp.type === job.type;
    const priority = isRerun ? Math.max(job.priority, rerun) : job.priority;
    jobs.push({ id: newId(), ...common, ...followUp, priority, hinted });
    // Keeps the hint: this walk may have passed the changed record.
    if (isRerun) return jobs;
  }
  if (rerun !== undefined)
    jobs.push({
      id: newId(),
      ...common,
      type: job.type,
      priority: rerun,
      cursor: null,
      retryAfter: null,
      hinted,
    });
  return jobs;
}
