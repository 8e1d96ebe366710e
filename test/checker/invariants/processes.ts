import { ofTheEngine } from '../invariant.ts';
import { msOf } from '../rows.ts';

/** Between judging a lease and renewing it a statement may be kept waiting by a busy machine. */
const slackMs = 250;

/** EXE-9: somebody else may have its jobs by then. When it was renewed is told by how long its leases last. */
export const expiredStaysExpired = ofTheEngine('a lease that has run out is not renewed', (commit, world) =>
  commit.processes.flatMap(({ before, after }) => {
    const leaseMs = after && world.leaseMs.get(after.id);
    if (!before || !after || leaseMs === undefined) return [];
    const renewedMs = msOf(after.expires_at) - leaseMs;
    const isRenewed = msOf(after.expires_at) > msOf(before.expires_at);
    if (!isRenewed || renewedMs <= msOf(before.expires_at) + slackMs) return [];
    return [
      { detail: `process ${after.id}: over since ${before.expires_at}, renewed until ${after.expires_at}` },
    ];
  }),
);

/** EXE-9: nobody would put them back in time. */
export const leavesNoJobs = ofTheEngine(
  'a process is forgotten only when no job runs under it',
  (commit, world) =>
    commit.processes.flatMap(({ before, after }) =>
      before && !after
        ? world.runningUnder(before.id).map((job) => ({
            jobId: job.id,
            connectionId: job.connection_id,
            detail: `process ${before.id} is gone`,
          }))
        : [],
    ),
);
