import { rateLimitOf } from '../config/rate-limits.ts';
import { backoffSeconds } from '../schedule/backoff.ts';
import { afterLoss, type Loss } from '../schedule/losses.ts';
import { recordLost, trimAttempts } from '../store/attempts.ts';
import type { Queryable } from '../store/database.ts';
import { insertEvents } from '../store/events.ts';
import { type LostJob, requeueJobs, writeLosses } from '../store/processes.ts';
import { type JobRequest, queueJobs, settleJobs, writeConnections } from '../store/settlements.ts';
import { formatInstant } from '../values/instant.ts';
import type { ExecutorContext } from './claim.ts';
import { addStatistics, measureFailed } from './statistics.ts';
import { rerunPriorityOf } from './trigger.ts';

/** `sync_jobs.error` and `attempts.error`. */
interface DeathError {
  kind: 'process_died';
  name: string;
  message: string;
  at: string;
  /** Operators only. */
  deaths: Omit<Loss, 'process'>[];
}

/** Of a connection with several process deaths in a row. */
export interface SuspectJob {
  jobId: string;
  connectionId: string;
  tenantId: string;
  providerSlug: string;
  type: LostJob['job_type'];
  error: DeathError;
  /** Undefined: the job has failed. */
  retryAfter: Date | undefined;
}

type Context = Pick<ExecutorContext, 'ports' | 'rateLimit'>;

type LostId = Pick<LostJob, 'id'>;

/** Of a live process: no death. */
export async function requeueLost(tx: Queryable, now: Date, lost: LostId[]): Promise<void> {
  await recordAll(tx, now, lost, null);
  await requeueJobs(tx, now, lost.map(requeueNow));
}

/**
 * EXE-9: of a dead process. From the second death in a row, jobs back off; after the fifth, they fail.
 * Returns both.
 */
export async function settleDead(
  context: Context,
  tx: Queryable,
  now: Date,
  { lost, loss }: { lost: LostJob[]; loss: Loss },
): Promise<SuspectJob[]> {
  await recordAll(tx, now, lost, JSON.stringify(deathError([loss], now)));
  const ends = lost.map((job) => ({ job, ...afterLoss(job.losses, loss) }));
  const pauseMs = (job: LostJob, losses: Loss[]) =>
    backoffSeconds(
      rateLimitOf(context.rateLimit, job.provider_slug),
      losses.length - 1,
      undefined,
      context.ports.random(),
    ) * 1000;
  const suspects = ends
    .filter(({ fate }) => fate !== 'requeued')
    .map(({ job, losses, fate }) => {
      const until = new Date(now.getTime() + pauseMs(job, losses));
      return {
        job,
        until,
        report: suspectJob(job, deathError(losses, now), fate === 'failed' ? undefined : until),
      };
    });
  const failed = suspects.filter(({ report }) => report.retryAfter === undefined);
  const retried = suspects.filter(({ report }) => report.retryAfter !== undefined);

  await requeueJobs(tx, now, [
    ...ends.filter(({ fate }) => fate === 'requeued').map(({ job }) => requeueNow(job)),
    ...retried.map(({ job, until, report }) => ({
      jobId: job.id,
      retryAfter: until,
      error: JSON.stringify(report.error),
    })),
  ]);
  await failJobs(context, tx, now, failed);
  await writeLosses(
    tx,
    ends.map(({ job, losses }) => ({ connectionId: job.connection_id, losses: JSON.stringify(losses) })),
  );
  return suspects.map(({ report }) => report);
}

const requeueNow = ({ id }: LostId) => ({ jobId: id, retryAfter: null, error: null });

async function recordAll(tx: Queryable, now: Date, lost: LostId[], error: string | null): Promise<void> {
  const ids = lost.map((job) => job.id);
  await recordLost(tx, now, ids, error);
  // Deaths count no attempt: nothing else bounds these rows.
  await trimAttempts(tx, ids);
}

interface FailedJob {
  job: LostJob;
  until: Date;
  report: SuspectJob;
}

/** Writes what a commit writes; triggers are on and unblock siblings. */
async function failJobs({ ports }: Context, tx: Queryable, now: Date, failed: FailedJob[]): Promise<void> {
  if (failed.length === 0) return;
  await writeConnections(
    tx,
    now,
    failed.map(({ job }) => ({
      connectionId: job.connection_id,
      cursor: null,
      ended: job.job_type === 'incremental',
      failure: 'process_died',
    })),
  );
  await settleJobs(
    tx,
    now,
    failed.map(({ job, report }) => ({
      jobId: job.id,
      status: 'failed' as const,
      attempts: job.attempts + 1,
      retryAfter: null,
      error: JSON.stringify(report.error),
      signals: 0,
      nextCursor: null,
    })),
  );
  await queueJobs(
    tx,
    now,
    failed.flatMap((failure) => rerunOf(failure, ports.newId())),
  );
  await insertEvents(
    tx,
    now,
    failed.map(({ job, report }) => ({
      id: ports.newId(),
      tenantId: job.tenant_id,
      connectionId: job.connection_id,
      jobId: job.id,
      kind: 'job.poisoned' as const,
      detail: null,
      actor: 'syncline',
      keyId: null,
      reason: report.error.message,
    })),
  );
  const rows = measureFailed(
    failed.map(({ report }) => ({ tenantId: report.tenantId, provider: report.providerSlug })),
  );
  await addStatistics(tx, now, ports.random(), rows);
}

/** The rerun may kill its process too. */
function rerunOf({ job, until }: FailedJob, id: string): JobRequest[] {
  const { tenant_id: tenantId, provider_slug: providerSlug, connection_id: connectionId, hinted } = job;
  const priority = rerunPriorityOf(job);
  if (priority === undefined) return [];
  const common = { id, tenantId, providerSlug, connectionId, type: job.job_type, priority, hinted };
  return [{ ...common, cursor: null, retryAfter: until, keepsPause: true }];
}

function suspectJob(job: LostJob, error: DeathError, retryAfter: Date | undefined): SuspectJob {
  return {
    jobId: job.id,
    connectionId: job.connection_id,
    tenantId: job.tenant_id,
    providerSlug: job.provider_slug,
    type: job.job_type,
    error,
    retryAfter,
  };
}

function deathError(losses: Loss[], now: Date): DeathError {
  const times = losses.map(({ at }) => at).join(', ');
  return {
    kind: 'process_died',
    name: 'ProcessDied',
    message:
      losses.length === 1
        ? `The process that ran this job died: its lease ended at ${times}.`
        : `The process that ran this job died ${losses.length} times in a row: leases ended at ${times}.`,
    at: formatInstant(now.getTime()),
    deaths: losses.map(({ at, host, pid }) => ({ at, host, pid })),
  };
}
