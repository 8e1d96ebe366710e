import { runsSettled } from '../causes.ts';
import { ofTheEngine } from '../invariant.ts';
import { isRunning, type Job, msOf } from '../rows.ts';

const of = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });

/** EXE-7, EXE-9: a run that waits for a budget has not failed, nor has one whose process died. */
function failures({ before, after }: { before: Job; after: Job }): number {
  const isFailure =
    isRunning(before) &&
    (after.status === 'failed' || (after.status === 'queued' && after.claim_id !== null));
  return isFailure && after.error?.parked !== true ? 1 : 0;
}

export const attemptsCountFailures = ofTheEngine(
  'attempts count the runs that failed, one by one',
  (commit) =>
    commit.jobs.flatMap(({ before, after }) => {
      if (!after) return [];
      // What is put back has a rule of its own.
      if (isRunning(before) && after.status === 'queued' && after.claim_id === null) return [];
      const expected = before ? before.attempts + failures({ before, after }) : 0;
      return after.attempts === expected
        ? []
        : [
            {
              ...of(after),
              detail: `${before?.attempts ?? 'none'} became ${after.attempts} (${before?.status} to ${after.status})`,
            },
          ];
    }),
);

/** Later than the failure, not than its being stored: the database may have been away for longer than the pause. */
export const failuresAreExplained = ofTheEngine(
  'a run that failed says why, and when it is tried again',
  (commit) =>
    runsSettled(commit)
      .filter(({ after }) => after.status !== 'succeeded')
      .filter(({ after }) => {
        const failedMs = msOf(after.error?.at);
        const isLater = after.status === 'failed' || msOf(after.retry_after) > failedMs;
        return after.error === null || !isLater;
      })
      .map(({ after }) => ({
        ...of(after),
        detail: `${after.status} with error ${JSON.stringify(after.error)}, to be tried again ${after.retry_after}`,
      })),
);

/** EXE-8. */
export const needsAuthAfterRefusal = ofTheEngine(
  'a connection needs its user only after a run was refused',
  (commit) =>
    commit.connections.flatMap(({ before, after }) => {
      if (!before || before.status === 'needs_auth' || after?.status !== 'needs_auth') return [];
      const isRefused = runsSettled(commit).some(
        (run) =>
          run.after.connection_id === after.id &&
          run.after.status === 'failed' &&
          run.after.error?.kind === 'unauthorized',
      );
      return isRefused
        ? []
        : [{ connectionId: after.id, detail: `it was ${before.status}, and no run of it was refused` }];
    }),
);
