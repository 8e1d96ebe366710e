import { atRest } from '../invariant.ts';
import { instantMs } from '../placements.ts';
import { isRunning, type Job, msOf, syncOf } from '../rows.ts';

const of = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });

export const nothingRuns = atRest('at rest, nothing is running', (world) =>
  [...world.jobs.values()]
    .filter(isRunning)
    .map((job) => ({ ...of(job), detail: `it runs under process ${job.process_id}` })),
);

export const nothingIsLeftBehind = atRest(
  'at rest, nothing that could run is left waiting',
  (world, { nowMs }) =>
    [...world.jobs.values()]
      .filter(
        (job) => job.status === 'queued' && world.connections.get(job.connection_id)?.status === 'active',
      )
      .filter((job) => Math.max(msOf(job.scheduled_at), msOf(job.retry_after) || 0) <= nowMs)
      .map((job) => ({ ...of(job), detail: `it has been due since ${job.retry_after ?? job.scheduled_at}` })),
);

export const everyConnectionGoesOn = atRest(
  'at rest, every active connection has its next run',
  (world, { nowMs, schedule }) =>
    [...world.connections.values()]
      .filter(({ status }) => status === 'active')
      .filter(({ id }) => !world.pendingOf(id).some((job) => job.job_type === 'incremental'))
      .filter((connection) => {
        const nextMs = instantMs(syncOf(connection)['next_run_at']);
        // One whose job has only just ended is seen by the next tick.
        const seenMs = Math.max(nextMs ?? 0, msOf(connection.last_incremental_ended_at) || 0);
        return nextMs === undefined || seenMs < nowMs - schedule.tickIntervalSeconds * 1000;
      })
      .map((connection) => ({
        connectionId: connection.id,
        detail: `next_run_at is ${String(syncOf(connection)['next_run_at'])}, and no incremental job is pending`,
      })),
);

/** The other direction holds at all times. */
export const whoMustWaitIsBlocked = atRest(
  'at rest, every job that must wait for its connection is blocked',
  (world) =>
    [...world.jobs.values()]
      .filter((job) => job.status === 'queued' && !job.blocked)
      .filter((job) => {
        const isActive = world.connections.get(job.connection_id)?.status === 'active';
        return !isActive || world.pendingOf(job.connection_id).some(isRunning);
      })
      .map((job) => ({ ...of(job), detail: 'its connection is not active, or runs another' })),
);
