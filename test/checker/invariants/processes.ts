import { engineOnly } from '../invariant.ts';
import { msOf } from '../rows.ts';

/** On a busy machine a heartbeat may be delayed between its check and its write. */
const slackMs = 250;

/** EXE-9. The time of the renewal follows from the lease duration. */
export const expiredStaysExpired = engineOnly('an expired lease is not renewed', (commit, state) =>
  commit.processes.flatMap(({ before, after }) => {
    const leaseMs = after && state.leaseMs.get(after.id);
    if (!before || !after || leaseMs === undefined) return [];
    const renewedMs = msOf(after.expires_at) - leaseMs;
    const isRenewed = msOf(after.expires_at) > msOf(before.expires_at);
    if (!isRenewed || renewedMs <= msOf(before.expires_at) + slackMs) return [];
    return [
      { detail: `process ${after.id}: expired ${before.expires_at}, renewed until ${after.expires_at}` },
    ];
  }),
);

/** EXE-9: otherwise its jobs would not be requeued in time. */
export const leavesNoJobs = engineOnly(
  'a process row is deleted only when it has no running job',
  (commit, state) =>
    commit.processes.flatMap(({ before, after }) =>
      before && !after
        ? state.runningUnder(before.id).map((job) => ({
            jobId: job.id,
            connectionId: job.connection_id,
            detail: `process ${before.id} was deleted`,
          }))
        : [],
    ),
);
