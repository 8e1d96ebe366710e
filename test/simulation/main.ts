/** `npm run sim`: simulates many seeds on a Postgres of its own, on every core. */
import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { bundle } from './bundle.ts';
import { simulateAll } from './crew.ts';
import { hunt } from './hunt.ts';
import { mutants } from './mutants.ts';
import { describeFailure, missedSituations, situationsTable } from './report.ts';
import type { Report } from './worker.ts';

const help = `Simulates several engines on one Postgres; a seed decides every step, every fault and all time.

  npm run sim -- --seeds 50000              a night: seeds 1 to 50000
  npm run sim -- --seeds 1 --from 123456    one seed again, with the end of what happened if it fails
  npm run sim -- --mutants                  puts mistakes into the engine, one after the other: each must be noticed
  npm run sim -- --mutants --only fence     those whose name holds a word

  --seeds <n>    how many seeds (300); with --mutants, how many each may take (60)
  --from <n>     the first one (1)
  --trace        tells every step, with the reason of each engine
  --workers <n>  processes at once (two for each core: they mostly wait for Postgres)

Ends with 1 if a promise was broken, if a situation was not met in 220 seeds or more, or if a mistake was not noticed.
`;

const { values: options } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string', default: '1' },
    workers: { type: 'string', default: String(2 * availableParallelism()) },
    mutants: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    help: { type: 'boolean', default: false },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
const whole = (name: string, text: string) => {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} is ${text}; it must be a whole number.`);
  return Number(text);
};
/** Fewer need not have met everything. */
const manySeeds = 220;
/** What is told while it runs. */
const tellEveryMs = 10_000;

if (options.help) say(help);
else process.exitCode = await run();

async function run(): Promise<number> {
  const server = await startEmbeddedPostgres({
    folder: mkdtempSync(join(tmpdir(), 'syncline-sim-')),
    keep: false,
    // Nothing here outlives the run.
    settings: { fsync: 'off', max_connections: '300' },
  });
  try {
    const workers = whole('workers', options.workers);
    return await (options.mutants ? runMutants(server.url, workers) : runSeeds(server.url, workers));
  } finally {
    await server.stop();
  }
}

async function runSeeds(serverUrl: string, workers: number): Promise<number> {
  const count = whole('seeds', options.seeds ?? '300');
  const from = whole('from', options.from);
  const seeds = Array.from({ length: count }, (_, i) => from + i);
  const { script, remove } = await bundle();
  const startedMs = performance.now();
  let [done, steps, toldMs] = [0, 0, startedMs];
  const progress = () => {
    const seconds = (performance.now() - startedMs) / 1000;
    return `${done} of ${count} seeds, ${(done / seconds).toFixed(1)} a second, ${steps} steps`;
  };
  const onReport = (report: Report) => {
    done++;
    steps += report.steps;
    if (report.violations.length > 0) say(describeFailure(report));
    else if (options.trace) say(report.lines.join('\n'));
    if (performance.now() - toldMs < tellEveryMs) return;
    toldMs = performance.now();
    say(progress());
  };
  try {
    const reports = await simulateAll({
      serverUrl,
      script,
      seeds,
      workers,
      onReport,
      tellsAll: options.trace,
    });
    say(progress());
    if (count === 1) say(`hash ${reports[0]?.hash}`);
    say(situationsTable(reports));
    const failed = reports.filter(({ violations }) => violations.length > 0).map(({ seed }) => seed);
    const missed = count >= manySeeds ? missedSituations(reports) : [];
    if (failed.length > 0) say(`violated by ${failed.length} seeds: ${failed.slice(0, 20).join(', ')}`);
    if (missed.length > 0) say(`never met: ${missed.join('; ')}`);
    return failed.length + missed.length > 0 ? 1 : 0;
  } finally {
    remove();
  }
}

async function runMutants(serverUrl: string, workers: number): Promise<number> {
  const most = whole('seeds', options.seeds ?? '60');
  const chosen = mutants.filter(({ name }) => name.includes(options.only));
  const results = await hunt({
    serverUrl,
    mutants: chosen,
    most,
    workers,
    onResult: (result) => say(result.sentence),
  });
  const survivors = results.filter(({ caughtBy }) => caughtBy === undefined);
  say(`${results.length - survivors.length} of ${results.length} mistakes were noticed`);
  return survivors.length > 0 ? 1 : 0;
}
