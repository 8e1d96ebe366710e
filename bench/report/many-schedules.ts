import type { ManySchedulesResult, Ticks } from '../many-schedules/measure.ts';
import { type PeerResult, type PeerTimes, restartTimeoutMs } from '../many-schedules/peers.ts';
import { fixed, median, range, table, verdict, whole } from '../tools/text.ts';
import { subjectColors } from './comparisons.ts';
import type { LineChart, Section } from './section.ts';

const maxRatio = 1.5;
type TickKind = 'nothingDueMs' | 'someDueMs';

/** All values of all rounds. */
const valuesOf = ({ rounds }: PeerResult, key: keyof PeerTimes): number[] =>
  rounds.flatMap((times) => times[key] ?? []);

export function manySchedules(result: ManySchedulesResult): Section {
  const { due, ticks, lag, lags, peers } = result;
  const [first, last] = [ticks[0] as Ticks, ticks.at(-1) as Ticks];
  const ratio = (one: Ticks, kind: TickKind) =>
    median(one[kind].map((ms, round) => ms / (first[kind][round] ?? Number.NaN)));
  const rows = ticks.map((one, i) => {
    const lagOf = (key: 'p50Ms' | 'p99Ms') => lags.map((round) => round[i]?.[key] ?? Number.NaN);
    const tick = (kind: TickKind) => [
      fixed(2)(median(one[kind])),
      `${fixed(2)(ratio(one, kind))} ${verdict(ratio(one, kind) <= maxRatio)}`,
    ];
    const p99 = lagOf('p99Ms');
    return [
      whole(one.connections),
      ...tick('nothingDueMs'),
      ...tick('someDueMs'),
      fixed(1)(median(lagOf('p50Ms'))),
      `${fixed(1)(median(p99))} (${range(p99, fixed(1))})`,
    ];
  });
  const head = ['Connections', 'nothing due, ms', `≤ ${maxRatio}`, `${due} due, ms`, `≤ ${maxRatio}`];
  const goal = (label: string, kind: TickKind) => ({
    what: `A tick with ${label}: ${whole(last.connections)} / ${whole(first.connections)} connections`,
    goal: `≤ ${maxRatio}`,
    found: fixed(2)(ratio(last, kind)),
    isMet: ratio(last, kind) <= maxRatio,
  });
  const stopped = peers.filter((one) => one.stopped);
  return {
    texts: {
      due: whole(due),
      'due per second': whole(lag.perSecond),
      table: [table([...head, 'lag p50, ms', 'p99, ms'], rows), peersTable(peers)].join('\n\n'),
      'peer rounds': String(Math.max(...peers.map((one) => one.rounds.length))),
      stopped: stopped.map((one) => `- ${one.peer}, ${whole(one.schedules)}: ${one.stopped}`).join('\n'),
    },
    chart: chart(result),
    goals: [goal('nothing due', 'nothingDueMs'), goal(`${due} due`, 'someDueMs')],
    fasterPeers: fasterPeers(result),
  };
}

function peersTable(peers: PeerResult[]): string {
  const keys = ['scheduleMs', 'startMs', 'restartMs', 'passMs', 'lagsMs'] as const;
  const rows = peers.map((one) => [
    one.stopped ? `${one.peer} (stopped)` : one.peer,
    whole(one.rounds.at(-1)?.schedules ?? one.schedules),
    ...keys.map((key) => {
      if (key === 'restartMs' && one.restartTimedOut) return `> ${restartTimeoutMs}`;
      const values = valuesOf(one, key);
      return values.length === 0 ? '' : fixed(1)(median(values));
    }),
  ]);
  const head = ['Peer', 'schedules', 'create one, ms', 'start, ms', 'restart, ms', 'pass, ms', 'lag p50, ms'];
  return table(head, rows);
}

function chart({ due, ticks, peers }: ManySchedulesResult): LineChart {
  const point = (x: number, values: number[]) =>
    values.length === 0 ? [] : [{ x, y: median(values), min: Math.min(...values), max: Math.max(...values) }];
  const own = (kind: TickKind) => ticks.flatMap((one) => point(one.connections, one[kind]));
  const others = [...new Set(peers.map(({ peer }) => peer))].map((peer) => ({
    name: `${peer}, ${due} due`,
    color: subjectColors.indexOf(peer),
    points: peers.flatMap((one) => (one.peer === peer ? point(one.schedules, valuesOf(one, 'passMs')) : [])),
  }));
  return {
    title: 'Finding and scheduling due connections',
    subtitle: 'Milliseconds, median and range, logarithmic axes; lower is better',
    x: 'schedules',
    isLog: true,
    lines: [
      { name: 'Syncline, nothing due', color: 5, points: own('nothingDueMs') },
      { name: `Syncline, ${due} due`, color: 0, points: own('someDueMs') },
      ...others.filter(({ points }) => points.length > 0),
    ],
  };
}

function fasterPeers({ due, ticks, lags, peers }: ManySchedulesResult): string[] {
  return peers.flatMap((one) => {
    const i = ticks.findIndex(({ connections }) => connections === one.schedules);
    const compare = (key: 'passMs' | 'lagsMs', own: number[], does: string) => {
      const [theirs, ours] = [median(valuesOf(one, key)), median(own)];
      if (!(theirs < ours)) return [];
      return `With ${whole(one.schedules)} schedules, ${one.peer} ${does} in ${fixed(1)(theirs)} ms, Syncline in ${fixed(1)(ours)} ms.`;
    };
    const ownLags = lags.flatMap((round) => round[i]?.p50Ms ?? []);
    return [
      compare('passMs', ticks[i]?.someDueMs ?? [], `schedules ${due} due jobs`),
      compare('lagsMs', ownLags, 'starts a due job'),
    ].flat();
  });
}
