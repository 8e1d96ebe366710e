/**
 * Measures Syncline beside its peers, everything on one embedded Postgres that keeps its promises (fsync on), every
 * contender in processes of the same Node. `npm run bench -- --only bare-jobs --rounds 3 --jobs 10000`.
 */
import { parseArgs } from 'node:util';
import { measureBareJobs } from './bare-jobs/measure.ts';
import { measureRealJob } from './real-job/measure.ts';
import { compareWithRecorded, recordRatios } from './recorded.ts';
import { type Bench, onBench, postgresSettings } from './tools/bench.ts';
import { type Contest, type ContestScale, contestTable } from './tools/contest.ts';
import { measuredOn, writeResult } from './tools/results.ts';
import { facts } from './tools/server.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    who: { type: 'string' },
    rounds: { type: 'string' },
    jobs: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
});

const measurements: Record<string, (bench: Bench, scale: ContestScale) => Promise<Contest>> = {
  'bare-jobs': measureBareJobs,
  'real-job': measureRealJob,
};
const usualJobs: Record<string, number> = { 'bare-jobs': 20_000, 'real-job': 5000 };
const quickScale: ContestScale = { jobs: 2000, rounds: 3, bestOnly: true };

function chosen(): string[] {
  const names = options.only?.split(',') ?? Object.keys(measurements);
  const unknown = names.find((name) => !measurements[name]);
  if (unknown !== undefined)
    throw new Error(`${unknown} is none of ${Object.keys(measurements).join(', ')}.`);
  return names;
}

function scaleOf(name: string): ContestScale {
  if (options.quick) return quickScale;
  return {
    jobs: Number(options.jobs ?? usualJobs[name]),
    rounds: Number(options.rounds ?? 5),
    ...(options.who && { who: options.who.split(',') }),
  };
}

await onBench(async (bench) => {
  const on = await measuredOn(bench.client);
  const report = ['# Syncline beside its peers', await facts(bench.client, postgresSettings)];
  const contests: Record<string, Contest> = {};
  for (const name of chosen()) {
    const startedMs = Date.now();
    const contest = (await measurements[name]?.(bench, scaleOf(name))) as Contest;
    contests[name] = contest;
    const minutes = Math.round((Date.now() - startedMs) / 6000) / 10;
    if (!options.quick && !options.who) writeResult(name, { measuredOn: on, minutes, ...contest });
    report.push(`## ${name}`, contestTable(contest, 'Syncline'));
  }
  // Only quick ratios are recorded: those of all variants and ways are others.
  if (options.quick && options.record) recordRatios(contests);
  else if (options.quick) report.push(compareWithRecorded(contests));
  return report.join('\n\n');
});
