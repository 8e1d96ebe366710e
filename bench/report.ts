import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { barsPlot } from './plots/bars.ts';
import { linesPlot } from './plots/lines.ts';
import { median } from './tools/report.ts';

/** Draws what was measured (`bench/results/*.json`) into `docs/benchmarks/*.svg`. What was not measured is left out. */

const resultsFolder = new URL('results/', import.meta.url);
const plotsFolder = new URL('../docs/benchmarks/', import.meta.url);

/** Each has its colour, the same in every plot. */
const contenders = ['Syncline', 'graphile-worker', 'pg-boss', 'BullMQ'];

/** What each contender reached in each round. */
interface Rates {
  rounds: { contender: string; jobsPerSecond: number }[];
}

/** What each contender took in each round, at each size. */
interface Costs {
  rounds: { contender: string; size: number; ms: number }[];
}

/** A plot per measurement, by the name of its file of results. */
const plots: Record<string, (json: string) => string> = {
  'bare-jobs': (json) => rates('Jobs that do nothing', JSON.parse(json)),
  'real-job': (json) => rates('Jobs that store a signal and move a cursor', JSON.parse(json)),
  'many-schedules': (json) => costs('A tick while schedules grow in number', 'schedules', JSON.parse(json)),
  growth: (json) => costs('A claim while finished jobs pile up', 'finished jobs', JSON.parse(json)),
};

function rates(title: string, { rounds }: Rates): string {
  const bars = contendersOf(rounds).map((contender) => ({
    ...spreadOf(rounds.filter((round) => round.contender === contender).map((round) => round.jobsPerSecond)),
    label: contender,
    colour: contenders.indexOf(contender),
  }));
  const subtitle = 'Median, least and most of all rounds; more is better';
  return barsPlot({ title, subtitle, unit: 'jobs per second', groups: [{ bars }] });
}

function costs(title: string, counted: string, { rounds }: Costs): string {
  const series = contendersOf(rounds).map((contender) => {
    const own = rounds.filter((round) => round.contender === contender);
    const points = [...new Set(own.map(({ size }) => size))].map((x) => {
      const { value, ...spread } = spreadOf(own.filter(({ size }) => size === x).map(({ ms }) => ms));
      return { x, y: value, ...spread };
    });
    return { name: contender, points, colour: contenders.indexOf(contender) };
  });
  const subtitle = 'Median, least and most of all rounds; less is better';
  const x = { label: counted, kind: 'log' as const };
  return linesPlot({ title, subtitle, x, y: { label: 'ms', kind: 'log' }, series });
}

function contendersOf(rounds: { contender: string }[]): string[] {
  return contenders.filter((contender) => rounds.some((round) => round.contender === contender));
}

function spreadOf(values: number[]): { value: number; least: number; most: number } {
  return { value: median(values), least: Math.min(...values), most: Math.max(...values) };
}

for (const [name, draw] of Object.entries(plots)) {
  const results = new URL(`${name}.json`, resultsFolder);
  if (!existsSync(results)) continue;
  mkdirSync(plotsFolder, { recursive: true });
  writeFileSync(new URL(`${name}.svg`, plotsFolder), draw(readFileSync(results, 'utf8')));
  console.log(`docs/benchmarks/${name}.svg`);
}
