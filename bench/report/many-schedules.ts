import type { ManySchedulesResult } from '../many-schedules/measure.ts';
import type { Ticks } from '../many-schedules/own.ts';
import { type PeerTimes, restartTimeoutMs } from '../many-schedules/peers.ts';
import { fixed, median, range, table, verdict, whole } from '../tools/text.ts';
import { subjectColors } from './comparisons.ts';
import type { Findings, LineChart } from './section.ts';

/** Maximum cost of a tick relative to the first row. */
const maxRatio = 1.5;
type TickKind = 'nothingDueMs' | 'someDueMs';

export function manySchedules(result: ManySchedulesResult): Findings {
  const { due, ticks, lag, lags, peers } = result;
  const first = ticks[0] as Ticks;
  const last = ticks.at(-1) as Ticks;
  const ratio = (one: Ticks, kind: TickKind) =>
    median(one[kind].map((ms, round) => ms / (first[kind][round] ?? Number.NaN)));
  const rows = ticks.map((one, i) => {
    const lagOf = (key: 'p50Ms' | 'p99Ms') => lags.map((round) => round[i]?.[key] ?? Number.NaN);
    const tick = (kind: TickKind) => [
      fixed(2)(median(one[kind])),
      `${fixed(2)(ratio(one, kind))} ${verdict(ratio(one, kind) <= maxRatio)}`,
    ];
    return [
      whole(one.connections),
      ...tick('nothingDueMs'),
      ...tick('someDueMs'),
      fixed(1)(median(lagOf('p50Ms'))),
      `${fixed(1)(median(lagOf('p99Ms')))} (${range(lagOf('p99Ms'), fixed(1))})`,
    ];
  });
  const head = ['Connections', 'nothing due, ms', `≤ ${maxRatio}`, `${due} due, ms`, `≤ ${maxRatio}`];
  const goal = (label: string, kind: TickKind) => ({
    what: `A tick with ${label}: ${whole(last.connections)} / ${whole(first.connections)} connections`,
    goal: `≤ ${maxRatio}`,
    found: fixed(2)(ratio(last, kind)),
    isMet: ratio(last, kind) <= maxRatio,
  });
  const how = new Map(peers.map((one) => [one.peer, `- ${one.peer}: ${one.how}`]));
  const stopped = peers.flatMap(({ peer, schedules, stopped: why }) =>
    why ? `- ${peer}, ${whole(schedules)} schedules: ${why}` : [],
  );
  return {
    text: [
      `The cost of a tick with nothing due and with ${due} due, and the start lag when ${lag.perSecond} connections come due per second,
while all other schedules are not due. Ratios compare with the first row of the same round. The lag is the time from due to
the connector call.`,
      table([...head, 'lag p50, ms', 'p99, ms'], rows),
      peersTable(result),
      `The peers were measured in ${Math.max(0, ...peers.map((one) => one.rounds.length))} round(s). An empty cell is an operation that the peer does not have or did not reach.`,
      [...how.values(), ...stopped].join('\n'),
    ].join('\n\n'),
    chart: chart(result),
    goals: [goal('nothing due', 'nothingDueMs'), goal(`${due} due`, 'someDueMs')],
    fasterPeers: fasterPeers(result),
  };
}

function peersTable({ peers }: ManySchedulesResult): string {
  const rows = peers.map(({ peer, schedules, rounds, stopped, restartTimedOut }) => {
    const cell = (values: (times: PeerTimes) => number | number[] | undefined) => {
      const all = rounds.flatMap((times) => values(times) ?? []);
      return all.length === 0 ? '' : fixed(1)(median(all));
    };
    return [
      stopped ? `${peer} (stopped)` : peer,
      whole(rounds.at(-1)?.schedules ?? schedules),
      cell(({ scheduleMs }) => scheduleMs),
      cell(({ startMs }) => startMs),
      restartTimedOut ? `> ${restartTimeoutMs}` : cell(({ restartMs }) => restartMs),
      cell(({ passMs }) => passMs),
      cell(({ lagsMs }) => lagsMs),
    ];
  });
  const head = ['Peer', 'schedules', 'create one, ms', 'start, ms', 'restart, ms', 'pass, ms', 'lag p50, ms'];
  return table(head, rows);
}

function chart({ due, ticks, peers }: ManySchedulesResult): LineChart {
  const point = (x: number, values: number[]) =>
    values.length === 0 ? [] : [{ x, y: median(values), min: Math.min(...values), max: Math.max(...values) }];
  const own = (name: string, kind: TickKind, color: number) => ({
    name,
    color,
    points: ticks.flatMap((one) => point(one.connections, one[kind])),
  });
  const others = [...new Set(peers.map(({ peer }) => peer))].map((peer) => ({
    name: `${peer}, ${due} due`,
    color: subjectColors.indexOf(peer),
    points: peers
      .filter((one) => one.peer === peer)
      .flatMap(({ schedules, rounds }) =>
        point(
          schedules,
          rounds.flatMap(({ passMs }) => passMs),
        ),
      ),
  }));
  return {
    title: 'Finding and scheduling due connections',
    subtitle: 'Milliseconds, median and range, logarithmic axes; lower is better',
    x: 'schedules',
    isLog: true,
    lines: [
      own('Syncline, nothing due', 'nothingDueMs', 5),
      own(`Syncline, ${due} due`, 'someDueMs', 0),
      ...others.filter(({ points }) => points.length > 0),
    ],
  };
}

function fasterPeers({ due, ticks, lags, peers }: ManySchedulesResult): string[] {
  return peers.flatMap(({ peer, schedules, rounds }) => {
    const i = ticks.findIndex(({ connections }) => connections === schedules);
    const compare = (theirs: number[], own: number[], does: string) =>
      median(theirs) < median(own)
        ? `With ${whole(schedules)} schedules, ${peer} ${does} in ${fixed(1)(median(theirs))} ms, Syncline in ${fixed(1)(median(own))} ms.`
        : [];
    return [
      compare(
        rounds.flatMap(({ passMs }) => passMs),
        ticks[i]?.someDueMs ?? [],
        `schedules ${due} due jobs`,
      ),
      compare(
        rounds.flatMap(({ lagsMs }) => lagsMs),
        lags.flatMap((round) => round[i]?.p50Ms ?? []),
        'starts a due job',
      ),
    ].flat();
  });
}
