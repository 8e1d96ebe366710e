import { isEnded, isRunning, type Job } from './rows.ts';
import type { Change, Commit } from './world.ts';

/** A run that ended, or was put back into the queue. */
export interface Left {
  before: Job;
  after: Job;
}

const leftRunning = ({ before, after }: Change<Job>): boolean =>
  isRunning(before) && after !== undefined && !isRunning(after);

/** The runs that this transaction ended or put back. */
export const runsLeft = (commit: Commit): Left[] => commit.jobs.filter(leftRunning) as Left[];

/** Those whose own result was written: it succeeded, failed for good, or failed and is tried again. */
export const runsSettled = (commit: Commit): Left[] =>
  runsLeft(commit).filter(
    ({ after }) =>
      !hasDied(after) && (['succeeded', 'failed'].includes(after.status) || wasTriedAgain(after)),
  );

/** Its processes died too often: no run of it has ended. */
const hasDied = (after: Job) => after.status === 'failed' && after.error?.kind === 'process_died';

/** Those that were failed by another process, because theirs died too often. */
export const runsDied = (commit: Commit): Left[] => runsLeft(commit).filter(({ after }) => hasDied(after));

/** A failure keeps the claim under which it happened; a job that is put back has none. */
const wasTriedAgain = (after: Job) => after.status === 'queued' && after.claim_id !== null;

/** Those that were taken from whoever ran them, as if they had never been claimed. */
export const runsPutBack = (commit: Commit): Left[] =>
  runsLeft(commit).filter(({ after }) => after.status === 'queued' && after.claim_id === null);

/** The jobs that began to run. */
export const runsBegun = (commit: Commit): { before: Job | undefined; after: Job }[] =>
  commit.jobs.flatMap(({ before, after }) =>
    !isRunning(before) && isRunning(after) ? [{ before, after }] : [],
  );

export const hasEvent = (commit: Commit, connectionId: string, ...kinds: string[]): boolean =>
  commit.events.some((event) => event.connection_id === connectionId && kinds.includes(event.kind));

export type Cause = 'follows' | 'asked for' | 'hinted' | 'received' | 'placed' | 'none';

/** Why the engine made a job. */
export function causeOf(commit: Commit, job: Job): Cause {
  const ofConnection = runsLeft(commit).filter(({ after }) => after.connection_id === job.connection_id);
  if (ofConnection.some(({ after }) => isEnded(after))) return 'follows';
  const asked = ['connection.triggered', 'connection.resumed', 'job.retried'];
  if (hasEvent(commit, job.connection_id, ...asked)) return 'asked for';
  if (job.hinted) return 'hinted';
  if (job.job_type === 'webhook' && job.status === 'succeeded') return 'received';
  if (job.job_type === 'incremental' && job.cursor === null) return 'placed';
  return 'none';
}

export const jobsMade = (commit: Commit): Job[] =>
  commit.jobs.flatMap(({ before, after }) => (before === undefined && after ? [after] : []));
