import type { Change, Commit } from './database-state.ts';
import { isEnded, isRunning, type Job } from './rows.ts';

export interface EndedRun {
  before: Job;
  after: Job;
}

const isReleased = ({ before, after }: Change<Job>): boolean =>
  isRunning(before) && after !== undefined && !isRunning(after);

export const runsReleased = (commit: Commit): EndedRun[] => commit.jobs.filter(isReleased) as EndedRun[];

/** Runs whose own result was stored. */
export const runsSettled = (commit: Commit): EndedRun[] =>
  runsReleased(commit).filter(
    ({ after }) =>
      !failedByDeaths(after) && (['succeeded', 'failed'].includes(after.status) || isRetry(after)),
  );

/** Failed by the reaper after too many process deaths. */
const failedByDeaths = (after: Job) => after.status === 'failed' && after.error?.kind === 'process_died';

export const runsFailedByDeaths = (commit: Commit): EndedRun[] =>
  runsReleased(commit).filter(({ after }) => failedByDeaths(after));

/** A retry keeps the claim id of the failed run; a requeued job has none. */
const isRetry = (after: Job) => after.status === 'queued' && after.claim_id !== null;

/** Runs that were requeued as if never claimed. */
export const runsRequeued = (commit: Commit): EndedRun[] =>
  runsReleased(commit).filter(({ after }) => after.status === 'queued' && after.claim_id === null);

export const runsStarted = (commit: Commit): { before: Job | undefined; after: Job }[] =>
  commit.jobs.flatMap(({ before, after }) =>
    !isRunning(before) && isRunning(after) ? [{ before, after }] : [],
  );

export const hasEvent = (commit: Commit, connectionId: string, ...kinds: string[]): boolean =>
  commit.events.some((event) => event.connection_id === connectionId && kinds.includes(event.kind));

export type Cause = 'follow-up' | 'requested' | 'hinted' | 'received' | 'scheduled' | 'none';

export function causeOf(commit: Commit, job: Job): Cause {
  const released = runsReleased(commit).filter(({ after }) => after.connection_id === job.connection_id);
  if (released.some(({ after }) => isEnded(after))) return 'follow-up';
  const requests = ['connection.triggered', 'connection.resumed', 'job.retried'];
  if (hasEvent(commit, job.connection_id, ...requests)) return 'requested';
  if (job.hinted) return 'hinted';
  if (job.job_type === 'webhook' && job.status === 'succeeded') return 'received';
  if (job.job_type === 'incremental' && job.cursor === null) return 'scheduled';
  return 'none';
}

export const jobsCreated = (commit: Commit): Job[] =>
  commit.jobs.flatMap(({ before, after }) => (before === undefined && after ? [after] : []));
