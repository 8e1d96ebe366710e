import { limitName } from '../limit/measure.ts';
import type { Contest } from '../tools/contest.ts';
import { median, whole } from '../tools/report.ts';
import { bestOf, ratios } from '../tools/standings.ts';
import { present, ratesPlot, ratesTable, ratioGoal, scaleOf, self, settingsList } from './contests.ts';
import { type Findings, image } from './section.ts';

const title = 'The same rows, written by SQL alone';

export function limit(contest: Contest): Findings {
  const rows = present(contest, [
    { entrant: limitName, label: `${limitName}, no Node` },
    { entrant: self, label: self },
  ]);
  const part = Math.round(median(ratios(contest, self, limitName)) * 100);
  const perSecond = median(bestOf(contest, self).map((measured) => measured.perSecond));
  return {
    text: [
      `How far is it to what Postgres can do? The same rows of the same connections are written by
[procedures in the database](../bench/limit/limit.sql): one statement places a batch of 1,000, one claims it, one finishes it. They call no
connector, check no lease, keep no order across providers and count no statistics. ${self} reaches ${part} % of that.

Ten million connections that run every fifteen minutes are 11,111 syncs a second. At the rate below these cores, which Postgres and the
processes share, keep up with ${whole(perSecond * 900)} of them.`,
      scaleOf(contest),
      ratesTable(contest, rows),
      image('limit', title),
      settingsList(contest),
    ].join('\n\n'),
    plots: { limit: ratesPlot(contest, rows, title) },
    goals: rows
      .filter(({ entrant }) => entrant === limitName)
      .map((row) => ratioGoal('A complete sync, to the same rows written by SQL alone', contest, row, 0.7)),
  };
}
