/** `npm run sim`: simulates seeds in parallel on a Postgres of its own. */
import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { systemPorts } from '../../src/platform/ports.ts';
import { buildWorker } from './build-worker.ts';
import { mutants } from './mutants.ts';
import { searchMutants } from './mutation-search.ts';
import { describeFailure, missedSituations, situationsTable } from './report.ts';
import type { Report } from './worker.ts';
import { simulateAll } from './workers.ts';

const help = `Simulates several engines on one Postgres. A seed determines steps, faults and clocks.

  npm run sim -- --seeds 50000              seeds 1 to 50000
  npm run sim -- --seeds 1 --from 123456    repeat one seed; prints the last steps if it fails
  npm run sim -- --mutants                  apply each mutant to the engine; each must be detected
  npm run sim -- --mutants --only fence     only mutants whose name contains a word

  --seeds <n>    number of seeds (default 300); with --mutants, maximum per mutant (default 60)
  --from <n>     first seed (default 1)
  --trace        print every step and the log of each engine
  --workers <n>  parallel processes (default two per core, because they mostly wait for Postgres)

Exits with 1 if an invariant was violated, a situation did not occur in 220 or more seeds, or a mutant was not
detected.
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
const print = (text: string) => process.stdout.write(`${text}\n`);
const parseInteger = (name: string, text: string) => {
  if (!/^\d+$/.test(text)) throw new Error(`--${name} is ${text}; it must be a whole number.`);
  return Number(text);
};
/** With fewer seeds, some situations may not occur. */
const minSeedsForSituations = 220;
const progressIntervalMs = 10_000;

if (options.help) print(help);
else process.exitCode = await run();

async function run(): Promise<number> {
  const server = await startEmbeddedPostgres({
    ports: systemPorts,
    folder: mkdtempSync(join(tmpdir(), 'syncline-sim-')),
    keep: false,
    // The data is discarded after the run.
    settings: { fsync: 'off', max_connections: '300' },
  });
  try {
    const workers = parseInteger('workers', options.workers);
    return await (options.mutants ? runMutants(server.url, workers) : runSeeds(server.url, workers));
  } finally {
    await server.stop();
  }
}

async function runSeeds(serverUrl: string, workers: number): Promise<number> {
  const count = parseInteger('seeds', options.seeds ?? '300');
  const from = parseInteger('from', options.from);
  const seeds = Array.from({ length: count }, (_, i) => from + i);
  const { script, remove } = await buildWorker();
  const startedMs = performance.now();
  let [done, steps, printedMs] = [0, 0, startedMs];
  const progress = () => {
    const seconds = (performance.now() - startedMs) / 1000;
    return `${done} of ${count} seeds, ${(done / seconds).toFixed(1)} seeds/s, ${steps} steps`;
  };
  const onReport = (report: Report) => {
    done++;
    steps += report.steps;
    if (report.violations.length > 0) print(describeFailure(report));
    else if (options.trace) print(report.lines.join('\n'));
    if (performance.now() - printedMs < progressIntervalMs) return;
    printedMs = performance.now();
    print(progress());
  };
  try {
    const reports = await simulateAll({
      serverUrl,
      script,
      seeds,
      workers,
      onReport,
      fullTrace: options.trace,
    });
    print(progress());
    if (count === 1) print(`hash ${reports[0]?.hash}`);
    print(situationsTable(reports));
    const failed = reports.filter(({ violations }) => violations.length > 0).map(({ seed }) => seed);
    const missed = count >= minSeedsForSituations ? missedSituations(reports) : [];
    if (failed.length > 0) print(`${failed.length} seeds failed: ${failed.slice(0, 20).join(', ')}`);
    if (missed.length > 0) print(`situations that did not occur: ${missed.join('; ')}`);
    return failed.length + missed.length > 0 ? 1 : 0;
  } finally {
    remove();
  }
}

async function runMutants(serverUrl: string, workers: number): Promise<number> {
  const maxSeeds = parseInteger('seeds', options.seeds ?? '60');
  const chosen = mutants.filter(({ name }) => name.includes(options.only));
  const results = await searchMutants({
    serverUrl,
    mutants: chosen,
    maxSeeds,
    workers,
    onResult: (result) => print(result.summary),
  });
  const survivors = results.filter(({ detectedBy }) => detectedBy === undefined);
  print(`${results.length - survivors.length} of ${results.length} mutants were detected`);
  return survivors.length > 0 ? 1 : 0;
}
