import { runsBegun, runsDied, runsSettled } from '../causes.ts';
import { ofTheEngine } from '../invariant.ts';
import { type Connection, type Job, lossesOf } from '../rows.ts';

const of = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });
const countOf = (connection: Connection | undefined) => lossesOf(connection).length;

export const failsAfterFiveDeaths = ofTheEngine(
  'a job fails by deaths of its process only after five in a row',
  (commit, world) =>
    runsDied(commit)
      .filter(({ after }) => countOf(world.connections.get(after.connection_id)) < 5)
      .map(({ after }) => ({
        ...of(after),
        detail: `after ${countOf(world.connections.get(after.connection_id))}`,
      })),
);

export const endsClearDeaths = ofTheEngine(
  'a run that ends leaves no deaths counted for its connection',
  (commit, world) =>
    runsSettled(commit)
      .filter(({ after }) => countOf(world.connections.get(after.connection_id)) > 0)
      .map(({ after }) => ({
        ...of(after),
        detail: `${after.status}, and ${countOf(world.connections.get(after.connection_id))} are counted`,
      })),
);

export const oneSuspectPerClaim = ofTheEngine(
  'a claim takes at most one job whose processes died twice in a row',
  (commit, world) => {
    const suspects = runsBegun(commit).filter(
      ({ after }) => countOf(world.connections.get(after.connection_id)) >= 2,
    );
    return suspects.slice(1).map(({ after }) => ({ ...of(after), detail: `${suspects.length} were taken` }));
  },
);

export const theLivingAreNotCounted = ofTheEngine(
  'a death is counted only of a process that did not give its lease up',
  (commit, world) =>
    commit.connections.flatMap(({ before, after }) => {
      const known = new Set(lossesOf(before).map(({ process }) => process));
      const added = lossesOf(after).filter(({ process }) => !known.has(process));
      return added
        .filter(({ process }) => {
          const gone = commit.processes.find((change) => change.before?.id === process)?.before;
          return (world.processes.get(process) ?? gone)?.released === true;
        })
        .map(({ process }) => ({ connectionId: after?.id, detail: `process ${process} gave up its lease` }));
    }),
);
