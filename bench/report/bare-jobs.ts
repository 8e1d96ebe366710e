import type { Contest } from '../tools/contest.ts';
import {
  contenders,
  leadOf,
  present,
  ratesPlot,
  ratesTable,
  ratioGoal,
  scaleOf,
  self,
  settingsList,
} from './contests.ts';
import { type Findings, image } from './section.ts';

const title = 'Jobs that do nothing';

export function bareJobs(contest: Contest): Findings {
  const rows = present(
    contest,
    contenders.map((entrant) => ({
      entrant,
      label: entrant === self ? `${self}, complete syncs` : `${entrant}, no-op`,
    })),
  );
  const peers = rows.filter(({ entrant }) => entrant !== self);
  return {
    text: [
      `Peers add and run jobs that do nothing. ${self} has no such job: it schedules, claims and runs complete syncs, each with a
signal and a cursor stored. So this is not the same work; it shows what a job costs when nothing is done in it.`,
      scaleOf(contest),
      ratesTable(contest, rows),
      image('bare-jobs', title),
      settingsList(contest),
    ].join('\n\n'),
    plots: { 'bare-jobs': ratesPlot(contest, rows, title) },
    goals: peers
      .filter(({ entrant }) => entrant === 'graphile-worker')
      .map((row) =>
        ratioGoal(`A complete sync, to a job of ${row.entrant} that does nothing`, contest, row, 1),
      ),
    betterPeers: peers.flatMap((row) => {
      const lead = leadOf(contest, row);
      return lead
        ? `${row.entrant} runs jobs that do nothing ${lead} times as fast as ${self} runs complete syncs.`
        : [];
    }),
  };
}
