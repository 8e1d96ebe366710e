import { insertAttempts, type LogLine, type NewAttempt, trimAttempts } from '../store/attempts.ts';
import { enableTriggers, type Queryable } from '../store/database.ts';
import { insertEvents } from '../store/events.ts';
import { addRollups, type RollupWrite } from '../store/rollups.ts';
import {
  type FollowUp,
  insertFollowUps,
  lockConnections,
  lockRuns,
  type RunRow,
  refuseConnections,
  settleJobs,
  writeConnections,
} from '../store/settlements.ts';
import { insertSignals, type NewSignal } from '../store/signals.ts';
import { type ClaimedJob, type ExecutorContext, statementTimeoutMs } from './claim.ts';
import type { Verdict } from './judge.ts';
import type { CheckedSignal } from './result.ts';
import { measure } from './statistics.ts';
import { hintPriority } from './trigger.ts';

/** Others hold a connection for milliseconds. One who does not is waited for with that run alone. */
const patienceMs = 1000;

/** A run that has ended, and what is to be written for it. */
export interface Settlement {
  job: ClaimedJob;
  verdict: Verdict;
  /** What its connector logged. */
  log?: LogLine[] | undefined;
  /** Keeps the secrets of the run out of what is told of it. */
  hide: (text: string) => string;
}

export interface Committed {
  /** Runs whose verdict is stored, now or by an earlier try that was not acknowledged; by job. */
  stored: Map<string, { signals: number }>;
  /** Jobs that follow. */
  followUps: number;
}

/**
 * EXE-5: everything that these runs found, in one transaction, and only for those that still hold their claim. Whoever is
 * missing in the answer has lost it, and nothing of it was written.
 */
export async function commit(context: ExecutorContext, settlements: Settlement[]): Promise<Committed> {
  const { db, ports, config } = context;
  return db.transaction(
    async (tx) => {
      const { now } = tx;
      const rows = await lockRunsOf(tx, settlements);
      const claimed = settlements.filter(({ job }) => rows.get(job.id)?.claim_id === job.claimId);
      const holding = claimed.filter(({ job }) => isRunning(rows.get(job.id)));
      // Settled under its own claim: an earlier try was stored, but nobody told us.
      const earlier = claimed.filter(({ job }) => !isRunning(rows.get(job.id)));
      const stored = new Map(earlier.map(({ job }) => [job.id, { signals: 0 }]));
      if (holding.length === 0) return { stored, followUps: 0 };

      await writeConnections(tx, now, holding.map(connectionWrite));
      const counts = await storeSignals(tx, now, holding, () => ports.newId());
      const followUps = holding.flatMap((one) => followUpsOf(one, rows.get(one.job.id), () => ports.newId()));
      await endJobs(tx, now, { holding, rows, counts, followUps });
      await markUnauthorized(tx, now, holding, () => ports.newId());
      await recordAttempts(tx, now, holding);
      await addStatistics(tx, now, ports.random(), measure(holding, counts, now));
      for (const { job } of holding) stored.set(job.id, { signals: counts.get(job.id) ?? 0 });
      return { stored, followUps: followUps.length };
    },
    { timeoutMs: statementTimeoutMs(config), lockTimeoutMs: patienceMs, triggers: 'off' },
  );
}

/** By job. */
type RunRows = ReadonlyMap<string, RunRow>;

/** The fence: once these are locked, nobody can take a claim away or give it back before the transaction ends. */
async function lockRunsOf(tx: Queryable, settlements: Settlement[]): Promise<RunRows> {
  await lockConnections(
    tx,
    settlements.map(({ job }) => job.connectionId),
  );
  const rows = await lockRuns(
    tx,
    settlements.map(({ job }) => job.id),
  );
  return new Map(rows.map((row) => [row.id, row]));
}

const isRunning = (row: RunRow | undefined) => row?.status === 'running';

interface Ends {
  holding: Settlement[];
  rows: RunRows;
  /** New signals, by job. */
  counts: ReadonlyMap<string, number>;
  followUps: FollowUp[];
}

/**
 * Of a job that has ended, with nobody behind it, the triggers would find that all is written already. The others are theirs:
 * what goes back in line or follows may have to wait, and who has waited may now run.
 */
async function endJobs(tx: Queryable, now: Date, { holding, rows, counts, followUps }: Ends): Promise<void> {
  const isLast = ({ job, verdict }: Settlement) =>
    verdict.outcome !== 'requeued' && !rows.get(job.id)?.blocks_others;
  const end = (one: Settlement) => jobEnd(one, counts.get(one.job.id) ?? 0);
  const others = holding.filter((one) => !isLast(one));
  await settleJobs(tx, now, holding.filter(isLast).map(end));
  if (others.length + followUps.length === 0) return;
  await enableTriggers(tx);
  await settleJobs(tx, now, others.map(end));
  await insertFollowUps(tx, now, followUps);
}

function connectionWrite({ job, verdict }: Settlement) {
  const ended = job.type === 'incremental' && verdict.outcome !== 'requeued';
  const failure = verdict.error?.kind ?? null;
  return { connectionId: job.connectionId, cursor: verdict.cursor, ended, failure };
}

const statusOf = { succeeded: 'succeeded', failed: 'failed', requeued: 'queued' } as const;
/** What the column can hold. */
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

/** There was no budget for it, so that nothing has failed. */
const isParked = ({ error }: Verdict) => error?.parked === true;
const errorText = ({ error }: Verdict) => (error ? JSON.stringify(error) : null);

/** Transactions that are written at the same time seldom take the same one of these. */
const rollupSlots = 8;
const startOfMinute = (at: Date) => new Date(Math.floor(at.getTime() / 60_000) * 60_000);

/** The last thing of a transaction: until it commits, others wait for these rows. */
export async function addStatistics(
  tx: Queryable,
  now: Date,
  random: number,
  rows: RollupWrite[],
): Promise<void> {
  await addRollups(tx, startOfMinute(now), Math.floor(random * rollupSlots), rows);
}

/** After this many failures, each further one has the oldest forgotten. */
const manyFailures = 100;

/**
 * What the job's own row will not tell: a failure that is followed by another try, and what was logged. A job that was
 * parked tells all of it, and may be parked once an hour for ever.
 */
async function recordAttempts(tx: Queryable, now: Date, settlements: Settlement[]): Promise<void> {
  const told = settlements
    .filter(({ verdict }) => !isParked(verdict))
    .filter(({ verdict, log }) => verdict.outcome === 'requeued' || log !== undefined);
  await insertAttempts(tx, now, told.map(attemptOf));
  const many = told.filter(({ job }) => job.attempts > manyFailures);
  await trimAttempts(
    tx,
    many.map(({ job }) => job.id),
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

/** Signals per statement: enough that the statement costs little per signal, few enough that it is short. */
const signalsPerStatement = 2000;
/** A parameter is held in memory several times on its way; this many bytes of payload at most. */
const bytesPerStatement = 4 * 1024 * 1024;

/** Signals, and the job that they belong to. */
interface Found {
  job: Pick<ClaimedJob, 'id' | 'tenantId' | 'providerSlug' | 'connectionId'>;
  verdict: { signals: readonly CheckedSignal[] };
}

/** Returns how many were new, by job. */
export async function storeSignals(
  tx: Queryable,
  now: Date,
  settlements: readonly Found[],
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

/** EXE-6, and the one more run that was asked for while this one was running: where both are of one type, one job. */
function followUpsOf(
  { job, verdict }: Settlement,
  held: RunRow | undefined,
  newId: () => string,
): FollowUp[] {
  const { tenantId, providerSlug, connectionId } = job;
  const common = { tenantId, providerSlug, connectionId };
  const hinted = held?.hinted ?? false;
  const asked = held?.rerun_priority ?? (hinted ? hintPriority : undefined);
  const rerun = verdict.outcome === 'requeued' ? undefined : asked;
  const { followUp } = verdict;
  const jobs: FollowUp[] = [];
  if (followUp) {
    const isRerun = rerun !== undefined && followUp.type === job.type;
    const priority = isRerun ? Math.max(job.priority, rerun) : job.priority;
    jobs.push({ id: newId(), ...common, ...followUp, priority, hinted });
    // A hint stays with the next page: a walk that has begun need not come by what has changed since.
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

async function markUnauthorized(
  tx: Queryable,
  now: Date,
  settlements: Settlement[],
  newId: () => string,
): Promise<void> {
  const refused = settlements.filter(({ verdict }) => verdict.needsAuth);
  if (refused.length === 0) return;
  const runs = refused.map(({ job: { connectionId, connection, startedAt } }) => ({
    connectionId,
    credentialId: connection.credentialId ?? null,
    startedAt,
  }));
  const changed = await refuseConnections(tx, now, runs);
  const events = refused
    .filter(({ job }) => changed.has(job.connectionId))
    .map(({ job, verdict }) => ({
      id: newId(),
      tenantId: job.tenantId,
      connectionId: job.connectionId,
      jobId: job.id,
      kind: 'connection.needs_auth' as const,
      detail: null,
      actor: 'syncline',
      keyId: null,
      reason: verdict.error?.message ?? null,
    }));
  await insertEvents(tx, now, events);
}
