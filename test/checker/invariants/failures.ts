import { runsSettled } from '../causes.ts';
import { engineOnly } from '../invariant.ts';
import { isRunning, type Job, msOf } from '../rows.ts';

const subject = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });

/** EXE-7, EXE-9: a parked run or a process death is not a failure. */
function failures({ before, after }: { before: Job; after: Job }): number {
  const isFailure =
    isRunning(before) &&
    (after.status === 'failed' || (after.status === 'queued' && after.claim_id !== null));
  return isFailure && after.error?.parked !== true ? 1 : 0;
}

export const attemptsCountFailures = engineOnly('attempts increase by one per failed run', (commit) =>
  commit.jobs.flatMap(({ before, after }) => {
    if (!after) return [];
    // Requeued jobs have an invariant of their own.
    if (isRunning(before) && after.status === 'queued' && after.claim_id === null) return [];
    const expected = before ? before.attempts + failures({ before, after }) : 0;
    return after.attempts === expected
      ? []
      : [
          {
            ...subject(after),
            detail: `${before?.attempts ?? 'none'} became ${after.attempts} (${before?.status} to ${after.status})`,
          },
        ];
  }),
);

/** Compared with the time of the failure: its commit may have waited for the database. */
export const failuresAreExplained = engineOnly('a failed run has an error and a retry time', (commit) =>
  runsSettled(commit)
    .filter(({ after }) => after.status !== 'succeeded')
    .filter(({ after }) => {
      const failedMs = msOf(after.error?.at);
      const isLater = after.status === 'failed' || msOf(after.retry_after) > failedMs;
      return after.error === null || !isLater;
    })
    .map(({ after }) => ({
      ...subject(after),
      detail: `${after.status} with error ${JSON.stringify(after.error)}, retry_after ${after.retry_after}`,
    })),
);

/** EXE-8. */
export const needsAuthAfterRefusal = engineOnly(
  'a connection becomes needs_auth only after an unauthorized run',
  (commit) =>
    commit.connections.flatMap(({ before, after }) => {
      if (!before || before.status === 'needs_auth' || after?.status !== 'needs_auth') return [];
      const isUnauthorized = runsSettled(commit).some(
        (run) =>
          run.after.connection_id === after.id &&
          run.after.status === 'failed' &&
          run.after.error?.kind === 'unauthorized',
      );
      return isUnauthorized
        ? []
        : [{ connectionId: after.id, detail: `it was ${before.status}, and no run was unauthorized` }];
    }),
);
