import type pg from 'pg';
import type { Fleet } from '../tools/fleet.ts';
import { fixed, median, progress, spread, table, timeMs, verdict, whole } from '../tools/report.ts';
import { drainBare } from './bare.ts';
import { queueDueJobs, verifySynced } from './queue.ts';
import { countStatements } from './statements.ts';
import type { Workers } from './workers.ts';

/** Statements per sync must stay below this when there is much to do. */
const statementsGoal = 0.1;
/** The part of the speed of bare SQL that the engine must reach. */
const ratioGoal = 0.6;

/** Who does the work: so many processes of the engine, or bare SQL on so many connections. */
interface Way {
  kind: 'engine' | 'bare';
  count: number;
}

const ways: Way[] = [
  { kind: 'engine', count: 1 },
  { kind: 'bare', count: 1 },
  { kind: 'engine', count: 2 },
  { kind: 'bare', count: 2 },
  { kind: 'engine', count: 4 },
];

interface Drained {
  perSecond: number;
  statementsPerSync: number;
  /** Processor time of the engine's processes. */
  cpuUsPerSync: number;
}

/** What each way did in one round, in the order of `ways`. */
type Round = Drained[];

export interface DrainBench {
  client: pg.Client;
  /** Connections for bare SQL. */
  bare: pg.Client[];
  workers: Workers;
  fleet: Fleet;
}

/** Every way in turns, another one first each round. */
export async function drainRounds(bench: DrainBench, count: number): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < count; round++) {
    progress(`draining ${whole(bench.fleet.size)} jobs, round ${round + 1} of ${count}`);
    const results: Round = [];
    for (let turn = 0; turn < ways.length; turn++) {
      const index = (round + turn) % ways.length;
      results[index] = await drain(bench, ways[index] as Way);
    }
    rounds.push(results);
  }
  return rounds;
}

/** Makes every job due, has all of them run in one way, and checks what came of it. */
export async function drain(bench: DrainBench, { kind, count }: Way): Promise<Drained> {
  const { client, bare, workers, fleet } = bench;
  await queueDueJobs(client, fleet);
  let [succeeded, ms, cpuMs] = [0, 0, 0];
  const drainAll = {
    engine: async () => {
      for (const answer of await workers.tell('drain', fleet, count)) {
        succeeded += answer.succeeded;
        cpuMs += answer.cpuMs;
      }
    },
    bare: async () => {
      const { claimBatch } = workers.options;
      const done = bare.slice(0, count).map((connection) => drainBare(connection, fleet, claimBatch));
      for (const jobs of await Promise.all(done)) succeeded += jobs;
    },
  };
  const statements = await countStatements(client, async () => {
    ms = await timeMs(drainAll[kind]);
  });
  if (succeeded !== fleet.size) throw new Error(`${kind}: ${succeeded} of ${fleet.size} jobs succeeded`);
  await verifySynced(client, fleet, fleet.size);
  const perSecond = (fleet.size / ms) * 1000;
  progress(`  ${kind} × ${count}: ${whole(perSecond)}/s`);
  return {
    perSecond,
    statementsPerSync: statements / fleet.size,
    cpuUsPerSync: (cpuMs * 1000) / fleet.size,
  };
}

const indexOf = (kind: Way['kind'], count: number) =>
  ways.findIndex((way) => way.kind === kind && way.count === count);

const ratesOf = (rounds: Round[], index: number) => rounds.map((round) => round[index]?.perSecond ?? 0);

/** The rate of so many processes. */
export function engineRate(rounds: Round[], processes: number): number {
  return median(ratesOf(rounds, indexOf('engine', processes)));
}

/** So many processes were fastest. */
export function bestProcesses(rounds: Round[]): number {
  const counts = ways.filter(({ kind }) => kind === 'engine').map(({ count }) => count);
  return counts.reduce((best, count) =>
    engineRate(rounds, count) > engineRate(rounds, best) ? count : best,
  );
}

export function drainTable(rounds: Round[]): string {
  const head = ['Way', 'syncs/s', 'least to most', 'statements per sync', `goal < ${statementsGoal}`];
  return table(
    [...head, 'processor time of Node per sync, µs'],
    ways.map(({ kind, count }, index) => {
      const rates = ratesOf(rounds, index);
      const middle = (key: keyof Drained) => median(rounds.map((round) => round[index]?.[key] ?? 0));
      const statements = middle('statementsPerSync');
      const isEngine = kind === 'engine';
      return [
        isEngine ? plural(count, 'process', 'processes') : `bare SQL, ${plural(count, 'connection')}`,
        whole(median(rates)),
        spread(rates, whole),
        fixed(3)(statements),
        isEngine ? verdict(statements < statementsGoal) : '',
        isEngine ? whole(middle('cpuUsPerSync')) : '',
      ];
    }),
  );
}

export function ratioTable(rounds: Round[]): string {
  const best = bestProcesses(rounds);
  const pairs = [1, best].flatMap((processes) => [1, 2].map((connections) => ({ processes, connections })));
  return table(
    ['Engine to bare SQL', 'ratio', 'least to most', `goal ≥ ${ratioGoal}`],
    pairs.map(({ processes, connections }, i) => {
      const bare = ratesOf(rounds, indexOf('bare', connections));
      const ratios = ratesOf(rounds, indexOf('engine', processes)).map((rate, j) => rate / (bare[j] ?? 0));
      const engine = `${plural(processes, 'process', 'processes')}${i >= 2 ? ' (the best)' : ''}`;
      const label = `${engine} to ${plural(connections, 'connection')}`;
      return [
        label,
        fixed(2)(median(ratios)),
        spread(ratios, fixed(2)),
        verdict(median(ratios) >= ratioGoal),
      ];
    }),
  );
}

function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
