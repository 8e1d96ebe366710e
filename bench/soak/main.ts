/**
 * Load and soak: a fleet at a steady part of its capacity, for minutes or hours, on an embedded Postgres that keeps its
 * promises (fsync and autovacuum on). `npm run soak -- --help`.
 */
import { onBench } from '../tools/bench.ts';
import { progress, table, whole } from '../tools/report.ts';
import { measuredOn, writeResult } from '../tools/results.ts';
import { measureCapacity } from './capacity.ts';
import { isMissed, judge } from './judge.ts';
import { readOptions, usualConnections } from './options.ts';
import { judgementRows } from './page.ts';
import { type Plan, planLoad } from './plan.ts';
import { startProcesses } from './processes.ts';
import { resultOf } from './result.ts';
import { runSteady } from './steady.ts';
import { writePage } from './write-page.ts';

const options = readOptions(process.argv.slice(2));

/** More than any fleet on such a machine has done, so that there is always work. */
const capacityConnections = 400_000;
/** About what it takes, where it was not measured. */
const usualFillMsPerConnection = 0.1;
/** What was run for less, or with less, replaces no result. */
const leastMinutes = 10;

await onBench(async (bench) => {
  const startedMs = performance.now();
  const { rows } = await bench.client.query<{ autovacuum: string }>('SHOW autovacuum');
  const on = await measuredOn(bench.client);
  Object.assign(on.settings, rows[0]);
  const processes = startProcesses(options.processes);
  try {
    const capacity = options.capacityPerSecond
      ? { perSecond: options.capacityPerSecond, fillMsPerConnection: usualFillMsPerConnection }
      : await measureCapacity(bench, processes, capacityConnections);
    const plan = planLoad(options, capacity.perSecond);
    progress(inWords(plan));
    const steady = await runSteady(bench, processes, { plan, minutes: options.minutes, ...capacity });
    const judgements = judge(steady, plan);
    for (const { invariant, count, examples } of steady.endViolations)
      progress(`VIOLATED ${count} times: ${invariant}: ${examples.join('; ')}`);
    for (const { what, bound, found } of judgements.filter(isMissed)) {
      process.exitCode = 1;
      progress(`FAILED: ${what}: ${found} (${bound})`);
    }
    if (options.minutes >= leastMinutes && plan.connections >= usualConnections) {
      const took = Math.round((performance.now() - startedMs) / 60_000);
      writeResult('soak', on, took, resultOf({ options, plan, capacity, steady, judgements }));
      writePage();
      progress('bench/results/soak.json and docs/soak.md were written');
    }
    return table(['Asked', 'bound', 'found', 'verdict'], judgementRows(judgements));
  } finally {
    await processes.end();
  }
});

function inWords({ connections, intervalSeconds, perSecond, load, retentionMinutes }: Plan): string {
  return `${whole(connections)} connections every ${intervalSeconds} s make ${whole(perSecond)} syncs/s, ${whole(100 * load)} % of the capacity; what has ended is deleted after ${retentionMinutes} minutes`;
}
