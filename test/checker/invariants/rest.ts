import { atRest } from '../invariant.ts';
import { instantMs } from '../placements.ts';
import { isRunning, type Job, msOf, syncOf } from '../rows.ts';

const subject = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });

export const nothingRuns = atRest('at rest, no job is running', (state) =>
  [...state.jobs.values()]
    .filter(isRunning)
    .map((job) => ({ ...subject(job), detail: `it runs under process ${job.process_id}` })),
);

export const nothingIsLeftBehind = atRest('at rest, no due job is queued', (state, { nowMs }) =>
  [...state.jobs.values()]
    .filter((job) => job.status === 'queued' && state.connections.get(job.connection_id)?.status === 'active')
    .filter((job) => Math.max(msOf(job.scheduled_at), msOf(job.retry_after) || 0) <= nowMs)
    .map((job) => ({
      ...subject(job),
      detail: `it has been due since ${job.retry_after ?? job.scheduled_at}`,
    })),
);

export const everyConnectionGoesOn = atRest(
  'at rest, every active connection has its next run',
  (state, { nowMs, schedule }) =>
    [...state.connections.values()]
      .filter(({ status }) => status === 'active')
      .filter(({ id }) => !state.pendingOf(id).some((job) => job.job_type === 'incremental'))
      .filter((connection) => {
        const nextMs = instantMs(syncOf(connection)['next_run_at']);
        // A job that has just ended is handled by the next tick.
        const handledMs = Math.max(nextMs ?? 0, msOf(connection.last_incremental_ended_at) || 0);
        return nextMs === undefined || handledMs < nowMs - schedule.tickIntervalSeconds * 1000;
      })
      .map((connection) => ({
        connectionId: connection.id,
        detail: `next_run_at is ${String(syncOf(connection)['next_run_at'])}, and no incremental job is pending`,
      })),
);

/** The converse holds after every commit. */
export const waitingIsBlocked = atRest(
  'at rest, every job that must wait for its connection is blocked',
  (state) =>
    [...state.jobs.values()]
      .filter((job) => job.status === 'queued' && !job.blocked)
      .filter((job) => {
        const isActive = state.connections.get(job.connection_id)?.status === 'active';
        return !isActive || state.pendingOf(job.connection_id).some(isRunning);
      })
      .map((job) => ({ ...subject(job), detail: 'its connection is not active, or has a running job' })),
);
