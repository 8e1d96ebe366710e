import { runsFailedByDeaths, runsRequeued, runsSettled, runsStarted } from '../causes.ts';
import { engineOnly } from '../invariant.ts';
import { type Connection, type Job, lossesOf } from '../rows.ts';

const subject = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });
const countOf = (connection: Connection | undefined) => lossesOf(connection).length;

export const failsAfterFiveDeaths = engineOnly(
  'a job fails because of process deaths only after five in a row',
  (commit, state) =>
    runsFailedByDeaths(commit)
      .filter(({ after }) => countOf(state.connections.get(after.connection_id)) < 5)
      .map(({ after }) => ({
        ...subject(after),
        detail: `after ${countOf(state.connections.get(after.connection_id))}`,
      })),
);

export const endsClearDeaths = engineOnly(
  'the end of a run resets the death count of its connection',
  (commit, state) =>
    runsSettled(commit)
      .filter(({ after }) => countOf(state.connections.get(after.connection_id)) > 0)
      .map(({ after }) => ({
        ...subject(after),
        detail: `${after.status}, with a death count of ${countOf(state.connections.get(after.connection_id))}`,
      })),
);

export const oneSuspectPerClaim = engineOnly(
  'a claim takes at most one job whose processes died twice in a row',
  (commit, state) => {
    const suspects = runsStarted(commit).filter(
      ({ after }) => countOf(state.connections.get(after.connection_id)) >= 2,
    );
    return suspects
      .slice(1)
      .map(({ after }) => ({ ...subject(after), detail: `${suspects.length} were claimed` }));
  },
);

export const suspectsBackOff = engineOnly(
  'a job whose process dies for at least the second time in a row backs off',
  (commit) =>
    runsRequeued(commit).flatMap(({ after }) => {
      const change = commit.connections.find((one) => one.after?.id === after.connection_id);
      const count = countOf(change?.after);
      return count >= 2 && count > countOf(change?.before) && after.retry_after === null
        ? [{ ...subject(after), detail: `requeued without a backoff, with a death count of ${count}` }]
        : [];
    }),
);

export const releasedProcessesAreNotCounted = engineOnly(
  'a death is counted only if the process did not release its lease',
  (commit, state) =>
    commit.connections.flatMap(({ before, after }) => {
      const counted = new Set(lossesOf(before).map(({ process }) => process));
      const added = lossesOf(after).filter(({ process }) => !counted.has(process));
      return added
        .filter(({ process }) => {
          const deleted = commit.processes.find((change) => change.before?.id === process)?.before;
          return (state.processes.get(process) ?? deleted)?.released === true;
        })
        .map(({ process }) => ({ connectionId: after?.id, detail: `process ${process} released its lease` }));
    }),
);
