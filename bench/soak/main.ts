import { type Bench, withPostgres } from '../tools/postgres.ts';
import { readEnvironment, writeResult } from '../tools/results.ts';
import { progress, table, whole } from '../tools/text.ts';
import { measureCapacity } from './capacity.ts';
import { judge, judgementRows } from './judge.ts';
import { help, parseOptions, planLoad, type SoakOptions } from './plan.ts';
import { startProcesses } from './processes.ts';
import { logViolations, resultOf, runSteady } from './run.ts';

/** More than a machine of this size can run, so work does not run out. */
const capacityConnections = 400_000;
/** Shorter runs do not replace the recorded result. */
const minMinutes = 10;

async function soak(bench: Bench, options: SoakOptions): Promise<string> {
  const environment = await readEnvironment(bench.client);
  const processes = startProcesses();
  try {
    const capacity =
      options.capacityPerSecond ?? (await measureCapacity(bench, processes, capacityConnections));
    const plan = planLoad(options, capacity);
    progress(`${whole(plan.perSecond)} syncs/s come due, ${whole(100 * plan.load)} % of the capacity`);
    const steady = await runSteady(bench, processes, plan, options.minutes);
    const judgements = judge(steady, plan);
    logViolations(steady.endViolations);
    if (judgements.some(({ verdict }) => verdict === 'missed')) process.exitCode = 1;
    if (options.minutes >= minMinutes && options.connections === undefined) {
      writeResult('soak', environment, resultOf(options, capacity, plan, steady, judgements));
      progress('wrote bench/results/soak.json; npm run bench:report writes docs/soak.md');
    }
    return table(['Check', 'bound', 'measured', 'verdict'], judgementRows(judgements));
  } finally {
    await processes.end();
  }
}

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === 'help') console.log(help);
  else await withPostgres((bench) => soak(bench, options));
} catch (error) {
  console.error(error);
  process.exitCode = 2;
}
