/**
 * Measures Syncline beside its peers, everything on one embedded Postgres that keeps its promises (fsync on), every
 * contender in processes of the same Node. `npm run bench -- --only bare-jobs,growth --rounds 3 --jobs 10000 --minutes 30`.
 */
import { parseArgs } from 'node:util';
import { type Measurement, measurements, quickNames } from './measurements.ts';
import { compareWithRecorded, recordRatios } from './recorded.ts';
import { onBench, postgresSettings } from './tools/bench.ts';
import type { Contest } from './tools/contest.ts';
import { progress } from './tools/report.ts';
import { measuredOn, writeResult } from './tools/results.ts';
import { facts } from './tools/server.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    who: { type: 'string' },
    rounds: { type: 'string' },
    jobs: { type: 'string' },
    minutes: { type: 'string' },
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
  },
});
const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
const asked = {
  quick: options.quick,
  who: options.who?.split(','),
  rounds: number(options.rounds),
  jobs: number(options.jobs),
  minutes: number(options.minutes),
};

function chosen(): string[] {
  const known = Object.keys(measurements);
  const names = options.only?.split(',') ?? (options.quick ? quickNames : known);
  const unknown = names.find((name) => !measurements[name]);
  if (unknown !== undefined) {
    console.error(
      `--only: "${unknown}" is no measurement. There are ${known.join(', ')}; several are separated by commas.`,
    );
    process.exit(2);
  }
  // Always in the same order: the longest come last.
  return known.filter((name) => names.includes(name));
}

const names = chosen();
await onBench(async (bench) => {
  const on = await measuredOn(bench.client);
  const report = ['# Syncline beside its peers', await facts(bench.client, postgresSettings)];
  const contests: Record<string, Contest> = {};
  for (const name of names) {
    const startedMs = performance.now();
    const measure = measurements[name] as Measurement;
    const { result, table, contest } = await measure(bench, asked);
    const minutes = Math.round((performance.now() - startedMs) / 6000) / 10;
    // What was measured in part or in haste replaces nothing.
    if (!options.quick && !options.who) writeResult(name, on, minutes, result);
    if (contest) contests[name] = contest;
    report.push(`## ${name}`, table);
    progress(`${name}: ${minutes} minutes`);
  }
  // Only quick ratios are recorded: those of all variants and ways are others.
  if (options.quick && options.record) recordRatios(contests);
  else if (options.quick) report.push(compareWithRecorded(contests));
  return report.join('\n\n');
});
