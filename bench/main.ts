/** Measures Syncline and its peers on one embedded Postgres server. See docs/benchmarks.md for the commands. */
import { parseArgs } from 'node:util';
import { type Comparison, runComparison, type Subject } from './comparison/comparison.ts';
import { bareJobs, earlierBuild, limitSubjects, realJob } from './comparison/subjects.ts';
import { growthScale, measureGrowth } from './growth/measure.ts';
import { measureLatency } from './latency/measure.ts';
import { measureManySchedules } from './many-schedules/measure.ts';
import { compareWithRecorded, recordRatios } from './recorded.ts';
import { describeResult } from './report/page.ts';
import { type Bench, withPostgres } from './tools/postgres.ts';
import { describeEnvironment, readEnvironment, writeResult } from './tools/results.ts';
import { fixed, progress } from './tools/text.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    minutes: { type: 'string', default: '30' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    against: { type: 'string' },
  },
});
const scaleName = options.quick ? 'quick' : 'full';
const earlier = options.against === undefined ? [] : [earlierBuild(options.against)];
const comparisons: Record<string, Comparison> = {};

async function compare(bench: Bench, name: string, subjects: Subject[], jobs: number): Promise<Comparison> {
  const scale = options.quick ? { jobs: 2000, rounds: 3, quick: true } : { jobs, rounds: 5 };
  const comparison = await runComparison(bench, name, subjects, scale);
  comparisons[name] = comparison;
  return comparison;
}

const measurements = {
  'bare-jobs': (bench: Bench) => compare(bench, 'bare-jobs', bareJobs, 20_000),
  'real-job': (bench: Bench) => compare(bench, 'real-job', realJob, 10_000),
  limit: (bench: Bench) => compare(bench, 'limit', [...limitSubjects, ...earlier], 20_000),
  latency: (bench: Bench) => measureLatency(bench, scaleName),
  'many-schedules': (bench: Bench) => measureManySchedules(bench, scaleName),
  growth: (bench: Bench) => measureGrowth(bench, growthScale(Number(options.minutes))),
};
type Name = keyof typeof measurements;
const known = Object.keys(measurements) as Name[];

const chosen = options.only?.split(',') ?? (options.quick ? ['bare-jobs', 'real-job', 'limit'] : known);
const unknown = chosen.find((name) => !known.includes(name as Name));
if (unknown !== undefined) {
  console.error(`--only: unknown measurement "${unknown}". Known: ${known.join(', ')}.`);
  process.exit(2);
}

await withPostgres(async (bench) => {
  const environment = await readEnvironment(bench.client);
  const report = [describeEnvironment(environment)];
  for (const name of known.filter((one) => chosen.includes(one))) {
    const started = performance.now();
    const result = await measurements[name](bench);
    progress(`${name}: ${fixed(1)((performance.now() - started) / 60_000)} minutes`);
    if (!options.quick) writeResult(name, environment, result);
    report.push(`## ${name}`, describeResult(name, result).texts.table);
  }
  // Quick ratios differ from full ratios, which choose among more variants and modes.
  if (options.quick && options.record) recordRatios(comparisons);
  else if (options.quick) report.push(compareWithRecorded(comparisons));
  return report.join('\n\n');
});
