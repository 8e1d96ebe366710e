import { isDeepStrictEqual } from 'node:util';
import { causeOf, jobsCreated } from '../causes.ts';
import type { Commit, DatabaseState } from '../database-state.ts';
import { always, engineOnly } from '../invariant.ts';
import { isEnded, isPending, isRunning, type Job } from '../rows.ts';

const subject = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });
const written = (commit: Commit): Job[] => commit.jobs.flatMap(({ after }) => after ?? []);
const connectionsTouched = (commit: Commit): Set<string> =>
  new Set(written(commit).map((job) => job.connection_id));
const listed = (jobs: Job[]) => jobs.map((job) => `${job.job_type} ${job.id} (${job.status})`).join(', ');

const pendingOfTouched = (commit: Commit, state: DatabaseState) =>
  [...connectionsTouched(commit)].map((connectionId) => ({
    connectionId,
    jobs: state.pendingOf(connectionId),
  }));

/** EXE-3. */
export const oneRuns = always('at most one job of a connection is running', (commit, state) =>
  pendingOfTouched(commit, state)
    .map(({ connectionId, jobs }) => ({ connectionId, jobs: jobs.filter(isRunning) }))
    .filter(({ jobs }) => jobs.length > 1)
    .map(({ connectionId, jobs }) => ({ connectionId, detail: `running at the same time: ${listed(jobs)}` })),
);

/** DB-1. */
export const onePending = always(
  'at most one job of a connection and type is queued or running',
  (commit, state) =>
    pendingOfTouched(commit, state)
      .flatMap(({ connectionId, jobs }) =>
        ['incremental', 'full', 'webhook'].map((type) => ({
          connectionId,
          jobs: jobs.filter((job) => job.job_type === type),
        })),
      )
      .filter(({ jobs }) => jobs.length > 1)
      .map(({ connectionId, jobs }) => ({
        connectionId,
        detail: `pending at the same time: ${listed(jobs)}`,
      })),
);

const transitions: Record<string, readonly string[]> = {
  nothing: ['queued', 'succeeded'],
  queued: ['queued', 'running', 'cancelled'],
  running: ['running', 'queued', 'succeeded', 'failed', 'cancelled'],
};

/** An ended job is final: a manual retry creates a new job. */
export const allowedEdges = engineOnly(
  "a job's status changes only along the allowed transitions",
  (commit) =>
    commit.jobs.flatMap(({ before, after }) => {
      if (!after) return [];
      const from = before?.status ?? 'nothing';
      const isAllowed = (transitions[from] ?? [from]).includes(after.status);
      return isAllowed ? [] : [{ ...subject(after), detail: `from ${from} to ${after.status}` }];
    }),
);

export const endedStays = engineOnly('an ended job never changes', (commit) =>
  commit.jobs.flatMap(({ before, after }) => {
    if (!isEnded(before) || after?.status !== before.status || isDeepStrictEqual(before, after)) return [];
    const changed = Object.keys(after).filter(
      (column) => !isDeepStrictEqual(before[column as keyof Job], after[column as keyof Job]),
    );
    return [{ ...subject(after), detail: `${before.status} job: ${changed.join(', ')} changed` }];
  }),
);

export const runningIsHeld = always('a running job has a claim, a process and a start time', (commit) =>
  written(commit)
    .filter(
      (job) => isRunning(job) && !(job.claim_id && job.process_id && job.started_at && !job.finished_at),
    )
    .map((job) => ({
      ...subject(job),
      detail: `claim ${job.claim_id}, process ${job.process_id}, started ${job.started_at}, finished ${job.finished_at}`,
    })),
);

export const endedHasNoProcess = always('an ended job has an end time and no process', (commit) =>
  written(commit)
    .filter((job) => isEnded(job) && (!job.finished_at || job.process_id))
    .map((job) => ({ ...subject(job), detail: `finished ${job.finished_at}, process ${job.process_id}` })),
);

export const deletedWhenEnded = engineOnly(
  'a job is deleted only when it has ended, or with its connection',
  (commit, state) =>
    commit.jobs.flatMap(({ before, after }) =>
      isPending(before) && !after && state.connections.has(before.connection_id)
        ? [{ ...subject(before), detail: `it was ${before.status}` }]
        : [],
    ),
);

export const everyJobHasACause = engineOnly('every new job has a cause', (commit) =>
  jobsCreated(commit)
    .filter((job) => causeOf(commit, job) === 'none')
    .map((job) => ({
      ...subject(job),
      detail: `a ${job.job_type} job without a request, schedule or previous run`,
    })),
);
