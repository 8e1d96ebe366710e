import { isDeepStrictEqual } from 'node:util';
import { causeOf, jobsMade } from '../causes.ts';
import { always, ofTheEngine } from '../invariant.ts';
import { isEnded, isPending, isRunning, type Job } from '../rows.ts';
import type { Commit, World } from '../world.ts';

const of = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });
const written = (commit: Commit): Job[] => commit.jobs.flatMap(({ after }) => after ?? []);
const connectionsTouched = (commit: Commit): Set<string> =>
  new Set(written(commit).map((job) => job.connection_id));
const listed = (jobs: Job[]) => jobs.map((job) => `${job.job_type} ${job.id} (${job.status})`).join(', ');

const pendingOfTouched = (commit: Commit, world: World) =>
  [...connectionsTouched(commit)].map((connectionId) => ({
    connectionId,
    jobs: world.pendingOf(connectionId),
  }));

/** EXE-3. */
export const oneRuns = always('at most one job of a connection is running', (commit, world) =>
  pendingOfTouched(commit, world)
    .map(({ connectionId, jobs }) => ({ connectionId, jobs: jobs.filter(isRunning) }))
    .filter(({ jobs }) => jobs.length > 1)
    .map(({ connectionId, jobs }) => ({ connectionId, detail: `these run at once: ${listed(jobs)}` })),
);

/** DB-1. */
export const onePending = always(
  'at most one job of a connection and type is queued or running',
  (commit, world) =>
    pendingOfTouched(commit, world)
      .flatMap(({ connectionId, jobs }) =>
        ['incremental', 'full', 'webhook'].map((type) => ({
          connectionId,
          jobs: jobs.filter((job) => job.job_type === type),
        })),
      )
      .filter(({ jobs }) => jobs.length > 1)
      .map(({ connectionId, jobs }) => ({
        connectionId,
        detail: `these are pending at once: ${listed(jobs)}`,
      })),
);

const edges: Record<string, readonly string[]> = {
  nothing: ['queued', 'succeeded'],
  queued: ['queued', 'running', 'cancelled'],
  running: ['running', 'queued', 'succeeded', 'failed', 'cancelled'],
};

/** An ended job never comes back: a retry is another job. */
export const allowedEdges = ofTheEngine("a job's status moves only along the allowed edges", (commit) =>
  commit.jobs.flatMap(({ before, after }) => {
    if (!after) return [];
    const from = before?.status ?? 'nothing';
    const isAllowed = (edges[from] ?? [from]).includes(after.status);
    return isAllowed ? [] : [{ ...of(after), detail: `from ${from} to ${after.status}` }];
  }),
);

export const endedStays = ofTheEngine('an ended job never changes', (commit) =>
  commit.jobs.flatMap(({ before, after }) => {
    if (!isEnded(before) || after?.status !== before.status || isDeepStrictEqual(before, after)) return [];
    const changed = Object.keys(after).filter(
      (column) => !isDeepStrictEqual(before[column as keyof Job], after[column as keyof Job]),
    );
    return [{ ...of(after), detail: `it had ${before.status}, and ${changed.join(', ')} changed` }];
  }),
);

export const runningIsHeld = always('a running job has a claim, a process and a start', (commit) =>
  written(commit)
    .filter(
      (job) => isRunning(job) && !(job.claim_id && job.process_id && job.started_at && !job.finished_at),
    )
    .map((job) => ({
      ...of(job),
      detail: `claim ${job.claim_id}, process ${job.process_id}, started ${job.started_at}, finished ${job.finished_at}`,
    })),
);

export const endedIsLetGo = always('an ended job has a finish, and no process', (commit) =>
  written(commit)
    .filter((job) => isEnded(job) && (!job.finished_at || job.process_id))
    .map((job) => ({ ...of(job), detail: `finished ${job.finished_at}, process ${job.process_id}` })),
);

export const deletedWhenEnded = ofTheEngine(
  'a job is deleted only when it has ended, or with its connection',
  (commit, world) =>
    commit.jobs.flatMap(({ before, after }) =>
      isPending(before) && !after && world.connections.has(before.connection_id)
        ? [{ ...of(before), detail: `it was ${before.status}` }]
        : [],
    ),
);

export const everyJobHasACause = ofTheEngine('every job that is queued has a cause', (commit) =>
  jobsMade(commit)
    .filter((job) => causeOf(commit, job) === 'none')
    .map((job) => ({
      ...of(job),
      detail: `a ${job.job_type} job that nobody asked for, and that follows nothing`,
    })),
);
