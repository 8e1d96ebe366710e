import type { Bench } from '../tools/bench.ts';
import { withClient } from '../tools/client.ts';
import { fillCycling } from '../tools/cycling.ts';
import { createFleet, type Fleet } from '../tools/fleet.ts';
import { fixed, median, progress, spread, table, verdict, whole } from '../tools/report.ts';
import { type LagLoad, measureLags, type StartLag } from './lags.ts';
import { measurePeers, type PeerFigures, peersTable } from './peers.ts';
import { measureTicks, type Ticks } from './ticks.ts';

export interface ManySchedulesScale {
  sizes: number[];
  /** How many are due in a tick that finds some. */
  due: number;
  rounds: number;
  lag: LagLoad;
  peers: { sizes: number[]; rounds: number };
}

export const manySchedulesScales: Record<'full' | 'quick', ManySchedulesScale> = {
  full: {
    sizes: [1000, 10_000, 100_000, 1_000_000],
    due: 100,
    rounds: 31,
    lag: { perSecond: 200, seconds: 5, rounds: 5 },
    peers: { sizes: [1000, 10_000, 100_000], rounds: 5 },
  },
  quick: {
    sizes: [1000, 10_000, 100_000],
    due: 100,
    rounds: 11,
    lag: { perSecond: 200, seconds: 5, rounds: 1 },
    peers: { sizes: [1000, 10_000], rounds: 1 },
  },
};

export interface ManySchedulesResult {
  due: number;
  ticks: Ticks[];
  lag: LagLoad;
  lags: StartLag[][];
  peers: PeerFigures[];
}

/** How many times what it costs with a thousand a tick may cost, however many connections there are. */
export const tickGoal = 1.5;
const intervalSeconds = 3600;

/** What a tick costs, and how late runs begin, as recurring schedules become many. */
export async function measureManySchedules(
  bench: Bench,
  scale: ManySchedulesScale,
): Promise<ManySchedulesResult> {
  const { due, lag, rounds } = scale;
  const url = await bench.createDatabase('bench_many_schedules');
  const own = await withClient(url, async (client) => {
    const fleets: Fleet[] = [];
    try {
      for (const size of scale.sizes) {
        progress(`many schedules: inserting ${whole(size)} connections`);
        const fleet = await createFleet(client, url, size);
        fleets.push(fleet);
        await fillCycling(client, fleet, { due: 0, from: new Date(), cycleSeconds: 1, intervalSeconds });
      }
      const ticks = await measureTicks(client, fleets, { due, rounds });
      return { due, ticks, lag, lags: await measureLags(client, url, fleets, lag) };
    } finally {
      await Promise.all(fleets.map(({ engine }) => engine.stop()));
    }
  });
  await bench.dropDatabase('bench_many_schedules');
  return { ...own, peers: await measurePeers(bench, { due, ...scale.peers }) };
}

export function manySchedulesTable({ due, ticks, lags, peers }: ManySchedulesResult): string {
  const first = ticks[0];
  const ratio = (key: 'nothingDueMs' | 'someDueMs', ticksOf: Ticks) => {
    const ratios = ticksOf[key].map((ms, round) => ms / (first?.[key][round] ?? 0));
    return `${fixed(2)(median(ratios))} ${verdict(median(ratios) <= tickGoal)}`;
  };
  const own = ticks.map((one, i) => {
    const of = (key: 'p50Ms' | 'p99Ms') => lags.map((round) => round[i]?.[key] ?? 0);
    return [
      whole(one.connections),
      fixed(2)(median(one.nothingDueMs)),
      ratio('nothingDueMs', one),
      fixed(2)(median(one.someDueMs)),
      ratio('someDueMs', one),
      fixed(1)(median(of('p50Ms'))),
      `${fixed(1)(median(of('p99Ms')))} (${spread(of('p99Ms'), fixed(1))})`,
    ];
  });
  const head = ['Connections', 'nothing due, ms', `≤ ${tickGoal}`, `${due} due, ms`, `≤ ${tickGoal}`];
  return [table([...head, 'lag p50, ms', 'p99, ms'], own), peersTable(peers)].join('\n\n');
}
