import { type ManySchedulesResult, manySchedulesTable, tickGoal } from '../many-schedules/measure.ts';
import type { Ticks } from '../many-schedules/ticks.ts';
import { linesPlot } from '../plots/lines.ts';
import { fixed, median, whole } from '../tools/report.ts';
import { contenders, self } from './contests.ts';
import { type Findings, type Goal, image } from './section.ts';

const title = 'To find and place what is due, while schedules grow in number';

export function manySchedules(result: ManySchedulesResult): Findings {
  const { due, lag, peers } = result;
  const how = [...new Map(peers.map((one) => [one.peer, one.how]))];
  const stopped = peers.flatMap(({ peer, schedules, stopped: why }) =>
    why ? `- ${peer}, ${whole(schedules)} schedules: ${why}` : [],
  );
  return {
    text: [
      `What a tick costs with nothing due and with ${due} due, and how late runs begin when ${lag.perSecond} come due each second, beside so many
schedules that are not due. Ratios compare with the first row, in the same round. A lag is from when a run was due until its
connector was called.`,
      manySchedulesTable(result),
      `What was timed of the peers, in ${Math.max(0, ...peers.map((one) => one.rounds.length))} round(s); a place without a figure is something that the peer does not have, or did not get to:`,
      how.map(([peer, text]) => `- ${peer}: ${text}`).join('\n'),
      ...(stopped.length > 0 ? [stopped.join('\n')] : []),
      image('many-schedules', title),
    ].join('\n\n'),
    plots: { 'many-schedules': plot(result) },
    goals: goalsOf(result),
    betterPeers: betterPeers(result),
  };
}

function plot({ due, ticks, peers }: ManySchedulesResult): string {
  const own = (name: string, key: 'nothingDueMs' | 'someDueMs', colour: number) => ({
    name,
    colour,
    points: ticks.map((one) => point(one.connections, one[key])),
  });
  const names = [...new Set(peers.map(({ peer }) => peer))];
  const others = names.map((peer) => ({
    name: `${peer}, ${due} due`,
    colour: contenders.indexOf(peer),
    points: peers
      .filter((one) => one.peer === peer)
      .map(({ schedules, rounds }) => ({ schedules, passMs: rounds.flatMap(({ passMs }) => passMs) }))
      .filter(({ passMs }) => passMs.length > 0)
      .map(({ schedules, passMs }) => point(schedules, passMs)),
  }));
  return linesPlot({
    title,
    subtitle: 'Median, least and most; less is better',
    x: { label: 'schedules', kind: 'log' },
    y: { label: 'ms', kind: 'log' },
    series: [
      own(`${self}, nothing due`, 'nothingDueMs', 5),
      own(`${self}, ${due} due`, 'someDueMs', 0),
      ...others.filter(({ points }) => points.length > 0),
    ],
  });
}

const point = (x: number, values: number[]) => ({
  x,
  y: median(values),
  least: Math.min(...values),
  most: Math.max(...values),
});

function goalsOf({ due, ticks }: ManySchedulesResult): Goal[] {
  const [first, last] = [ticks[0], ticks.at(-1)];
  if (!first || !last) return [];
  const goal = (label: string, key: keyof Omit<Ticks, 'connections'>) => {
    const ratio = median(last[key].map((ms, round) => ms / (first[key][round] ?? Number.NaN)));
    return {
      what: `A tick with ${label} and ${whole(last.connections)} connections, to one with ${whole(first.connections)}`,
      goal: `≤ ${tickGoal}`,
      found: fixed(2)(ratio),
      isMet: ratio <= tickGoal,
    };
  };
  return [goal('nothing due', 'nothingDueMs'), goal(`${due} due`, 'someDueMs')];
}

/** At each number of schedules that both were measured with. */
function betterPeers({ due, ticks, lags, peers }: ManySchedulesResult): string[] {
  return peers.flatMap(({ peer, schedules, rounds }) => {
    const i = ticks.findIndex(({ connections }) => connections === schedules);
    const ownMs = median(ticks[i]?.someDueMs ?? []);
    const ownLagMs = median(lags.flatMap((round) => round[i]?.p50Ms ?? []));
    const passMs = median(rounds.flatMap((one) => one.passMs));
    const lagMs = median(rounds.flatMap((one) => one.lagsMs));
    const beside = `With ${whole(schedules)} schedules, ${peer}`;
    return [
      passMs < ownMs
        ? `${beside} takes ${fixed(1)(passMs)} ms to place ${due} that are due; ${self} takes ${fixed(1)(ownMs)} ms.`
        : [],
      lagMs < ownLagMs
        ? `${beside} begins a run ${fixed(1)(lagMs)} ms after it was due (median); ${self} ${fixed(1)(ownLagMs)} ms.`
        : [],
    ].flat();
  });
}
