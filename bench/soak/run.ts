import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { allTenants, createFleet, type Fleet, fillConnections } from '../tools/fleet.ts';
import type { Bench } from '../tools/postgres.ts';
import { fixed, progress, sum, timeMs, whole } from '../tools/text.ts';
import { type Checked, findViolations, type Violation } from './invariants.ts';
import type { Judgement } from './judge.ts';
import { cycleSeconds, intervalSeconds, type Plan, partsOf, type SoakOptions } from './plan.ts';
import type { Processes, ProcessReport } from './processes.ts';
import { type Meter, readMeter, readSample, type Sample } from './sample.ts';

export interface Steady {
  samples: Sample[];
  endViolations: Violation[];
  /** Connector calls whose result was not committed. */
  lostCalls: number;
}

interface Run {
  client: pg.Client;
  url: string;
  fleet: Fleet;
  processes: Processes;
  plan: Plan;
}

const startMs = 3000;
const insertMsPerConnection = 0.2;

export function runSteady(bench: Bench, processes: Processes, plan: Plan, minutes: number): Promise<Steady> {
  return bench.withDatabase('soak', async (client, url) => {
    const fleet = await createFleet(client, url, plan.connections);
    // For the checks: without statistics in the first minutes, the planner would choose nested loops that take minutes.
    await client.query(`SET work_mem = '128MB'; SET enable_nestloop = off; SET jit = off`);
    const run = { client, url, fleet, processes, plan };
    const first = await start(run);
    const samples = await takeSamples(run, minutes);
    const last = await processes.stop();
    const checked: Checked = { schema: fleet.schema, plan, minute: minutes, part: [0, 1] };
    const endViolations = await findViolations(client, checked, { isEnd: true });
    const reports = [first, ...samples.map((sample) => sample.processes), last].flat();
    return { samples, endViolations, lostCalls: await countLostCalls(run, reports) };
  });
}

/** Connections come due evenly from the first second on, so no burst persists. */
async function start({ client, url, fleet, processes, plan }: Run): Promise<ProcessReport[]> {
  progress(`inserting ${whole(plan.connections)} connections`);
  const from = new Date(Date.now() + startMs + 10_000 + insertMsPerConnection * plan.connections);
  await fillConnections(client, fleet, { from, overSeconds: cycleSeconds, intervalSeconds });
  await delay(Math.max(0, from.getTime() - Date.now() - startMs));
  const reports = await processes.start(url, fleet, plan.retentionMinutes);
  await delay(Math.max(0, from.getTime() - Date.now()));
  return reports;
}

async function takeSamples(run: Run, minutes: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedMs = performance.now();
  let before = await readMeter(run.client, run.fleet);
  for (let minute = 1; minute <= minutes; minute++) {
    // Relative to the start, so the time of the checks does not accumulate.
    await delay(Math.max(0, startedMs + minute * 60_000 - performance.now()));
    const after = await readMeter(run.client, run.fleet);
    const sample = await takeSample(run, minute, before, after);
    samples.push(sample);
    progress(`${minute} of ${minutes}, ${describe(sample, run.plan)}`);
    logViolations(sample.violations);
    before = after;
  }
  return samples;
}

async function takeSample(run: Run, minute: number, before: Meter, after: Meter): Promise<Sample> {
  const { client, fleet, processes, plan } = run;
  const measured = await readSample(client, fleet, before, after);
  const parts = partsOf(plan);
  const checked: Checked = { schema: fleet.schema, plan, minute, part: [minute % parts, parts] };
  let violations: Violation[] = [];
  const checksMs = await timeMs(async () => {
    violations = await findViolations(client, checked);
  });
  return { minute, ...measured, processes: await processes.report(), violations, checksMs };
}

function describe(sample: Sample, plan: Plan): string {
  const { lagMs, undisturbedLagMs, tables, processes } = sample;
  const logs = processes.map(({ log }) => log);
  return [
    `${whole(sample.syncsPerSecond)} of ${whole(plan.perSecond)} syncs/s`,
    `lag p99 ${whole(lagMs.p99)} ms, undisturbed ${whole(undisturbedLagMs.p99)} ms`,
    `heap ${processes.map(({ heapMb }) => fixed(1)(heapMb)).join('+')} MB`,
    `tables ${whole(sum(Object.values(tables).map(({ mb }) => mb)))} MB`,
    `${sum(logs.map(({ errors }) => errors))} errors, ${sum(logs.map(({ warnings }) => warnings))} warnings`,
    ...logs.flatMap(({ examples }) => examples),
  ].join(', ');
}

export function logViolations(violations: Violation[]): void {
  for (const { invariant, count, examples } of violations)
    progress(`VIOLATED ${count} times: ${invariant}: ${examples.join('; ')}`);
}

/** Calls of a run whose lease expired or whose process stopped have no outcome. */
async function countLostCalls({ client, fleet: { schema } }: Run, reports: ProcessReport[]): Promise<number> {
  const { rows } = await client.query<{ outcomes: number }>(
    `SELECT coalesce(sum(succeeded + failed + retried), 0)::float8 AS outcomes FROM ${schema}.rollups
     WHERE tenant_id = '${allTenants}'`,
  );
  return sum(reports.map(({ calls }) => calls)) - (rows[0]?.outcomes ?? 0);
}

const maxSamples = 120;
const maxLogged = 10;

/** What bench/results/soak.json records: all judgements, and at most 120 evenly spaced samples. */
export function resultOf(
  options: SoakOptions,
  capacityPerSecond: number,
  plan: Plan,
  { samples, endViolations, lostCalls }: Steady,
  judgements: Judgement[],
) {
  const logs = samples.flatMap(({ processes }) => processes.map(({ log }) => log));
  const every = Math.ceil(samples.length / maxSamples);
  const totals = {
    syncs: Math.round(sum(samples.map(({ syncsPerSecond }) => syncsPerSecond * 60))),
    warnings: sum(logs.map(({ warnings }) => warnings)),
    lostCalls,
    violations: [...samples.flatMap(({ violations }) => violations), ...endViolations],
    logged: [...new Set(logs.flatMap(({ examples }) => examples))].slice(0, maxLogged),
  };
  const kept = samples.filter(({ minute }) => minute % every === 0 || minute === 1);
  return { options, capacityPerSecond, plan, judgements, totals, samples: kept };
}

export type SoakResult = ReturnType<typeof resultOf>;
