import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Bench } from '../tools/bench.ts';
import { withClient } from '../tools/client.ts';
import { fillCycling } from '../tools/cycling.ts';
import { createFleet, type Fleet } from '../tools/fleet.ts';
import { fixed, progress, timeMs, whole } from '../tools/report.ts';
import { type Checked, findViolations, type Violation } from './invariants.ts';
import { cycleSeconds, type Plan, partsOf } from './plan.ts';
import type { Processes } from './processes.ts';
import { type Meter, readMeter, readSample, type Sample } from './sample.ts';
import { startOrder } from './start-order.ts';
import type { ProcessReport } from './worker.ts';

export interface Steady {
  samples: Sample[];
  /** Of all connections, when everybody had stopped. */
  endViolations: Violation[];
  /** Calls of connectors of which nothing was stored. */
  callsWithoutOutcome: number;
}

interface Run {
  client: pg.Client;
  url: string;
  fleet: Fleet;
  processes: Processes;
  plan: Plan;
  minutes: number;
}

const database = 'soak';
const lines = new URL('../../test-results/', import.meta.url);
const minuteMs = 60_000;
/** Processes are told to start so long before the first connection is due. */
const headStartMs = 3000;

/** Keeps the planned load up for so many minutes, and looks at everything once a minute. */
export async function runSteady(
  bench: Bench,
  processes: Processes,
  { plan, minutes, fillMsPerConnection }: { plan: Plan; minutes: number; fillMsPerConnection: number },
): Promise<Steady> {
  const url = await bench.createDatabase(database);
  return withClient(url, async (client) => {
    const fleet = await createFleet(client, url, plan.connections, 'soak');
    await fleet.engine.stop();
    // For the looks at everything. In the first minutes nothing is known of tables that were empty a moment ago, and a plan for
    // empty tables would take minutes.
    await client.query(`SET work_mem = '128MB'; SET enable_nestloop = off; SET jit = off`);
    const run = { client, url, fleet, processes, plan, minutes };
    const first = await beginEvenly(run, fillMsPerConnection);
    const samples = await runMinutes(run);
    const last = await processes.tell({ action: 'stop' });
    const checked: Checked = { schema: fleet.schema, plan, minute: minutes, part: [0, 1] };
    const endViolations = await findViolations(client, checked, { isEnd: true });
    const reports = [first, ...samples.map((sample) => sample.processes), last].flat();
    return { samples, endViolations, callsWithoutOutcome: await countLost(run, reports) };
  });
}

/** Connections come due one after the other from the first second on, so that no herd runs through the rest of the time. */
async function beginEvenly(
  { client, url, fleet, processes, plan }: Run,
  fillMsPerConnection: number,
): Promise<ProcessReport[]> {
  progress(`writing ${whole(plan.connections)} connections`);
  const leadMs = headStartMs + 10_000 + 1.5 * fillMsPerConnection * plan.connections;
  const from = new Date(Date.now() + leadMs);
  await fillCycling(client, fleet, {
    due: plan.connections,
    from,
    cycleSeconds: cycleSeconds(plan.intervalSeconds),
    intervalSeconds: plan.intervalSeconds,
  });
  const leftMs = from.getTime() - Date.now() - headStartMs;
  if (leftMs < 0)
    progress(`that took ${whole(-leftMs / 1000)} s longer than expected: the first are overdue`);
  await delay(Math.max(0, leftMs));
  const reports = await processes.tell(startOrder(url, fleet, plan.retentionMinutes));
  await delay(Math.max(0, from.getTime() - Date.now()));
  return reports;
}

async function runMinutes(run: Run): Promise<Sample[]> {
  const { client, fleet, minutes } = run;
  mkdirSync(lines, { recursive: true });
  rmSync(new URL('soak.jsonl', lines), { force: true });
  const samples: Sample[] = [];
  const startedMs = performance.now();
  let before = await readMeter(client, fleet.schema);
  for (let minute = 1; minute <= minutes; minute++) {
    // From the start, so that what measuring takes does not add up.
    await delay(Math.max(0, startedMs + minute * minuteMs - performance.now()));
    const after = await readMeter(client, fleet.schema);
    const sample = await takeSample(run, { minute, before, after });
    samples.push(sample);
    appendFileSync(new URL('soak.jsonl', lines), `${JSON.stringify(sample)}\n`);
    tellProgress(sample, run);
    before = after;
  }
  return samples;
}

async function takeSample(
  { client, fleet: { schema }, processes, plan }: Run,
  { minute, before, after }: { minute: number; before: Meter; after: Meter },
): Promise<Sample> {
  const fromDatabase = await readSample(client, schema, { minute, before, after });
  let violations: Violation[] = [];
  const parts = partsOf(plan);
  const checksMs = await timeMs(async () => {
    violations = await findViolations(client, { schema, plan, minute, part: [minute % parts, parts] });
  });
  return { ...fromDatabase, processes: await processes.tell({ action: 'report' }), violations, checksMs };
}

function tellProgress(sample: Sample, { plan, minutes }: Run): void {
  const { minute, syncsPerSecond, lagMs, undisturbedLagMs, tables, processes, violations } = sample;
  const mb = Object.values(tables).reduce((sum, table) => sum + table.mb, 0);
  const sum = (value: (one: ProcessReport) => number) =>
    whole(processes.reduce((all, one) => all + value(one), 0));
  progress(
    [
      `${minute} of ${minutes}`,
      `${whole(syncsPerSecond)} of ${whole(plan.perSecond)} syncs/s`,
      `lag ${whole(lagMs.p50)}/${whole(lagMs.p99)} ms, in the end ${whole(undisturbedLagMs.p50)}/${whole(undisturbedLagMs.p99)} ms`,
      `heap ${processes.map(({ heapMb }) => fixed(1)(heapMb)).join('+')} MB`,
      `tables ${whole(mb)} MB`,
      `${sum(({ log }) => log.errors)} errors, ${sum(({ log }) => log.warnings)} warnings`,
      `${violations.length} violations`,
    ].join(', '),
  );
  for (const { invariant, count, examples } of violations)
    progress(`VIOLATED ${count} times: ${invariant}: ${examples.join('; ')}`);
  for (const example of processes.flatMap(({ log }) => log.examples)) progress(`logged: ${example}`);
}

/** A run that was lost, by a lease that ended or a process that was stopped, was called for nothing. */
async function countLost({ client, fleet: { schema } }: Run, reports: ProcessReport[]): Promise<number> {
  const { rows } = await client.query<{ outcomes: number }>(
    `SELECT coalesce(sum(succeeded + failed + retried), 0)::float8 AS outcomes FROM ${schema}.rollups
     WHERE tenant_id = '00000000-0000-0000-0000-000000000000'`,
  );
  const calls = reports.reduce((sum, one) => sum + one.calls, 0);
  return calls - (rows[0]?.outcomes ?? 0);
}
