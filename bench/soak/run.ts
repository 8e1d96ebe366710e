import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { allTenants, createFleet, type Fleet, fillConnections } from '../tools/fleet.ts';
import { type Bench, withClient } from '../tools/postgres.ts';
import { fixed, progress, sum, timeMs, whole } from '../tools/text.ts';
import { findViolations, type Violation } from './invariants.ts';
import type { Judgement } from './judge.ts';
import { cycleSeconds, type Plan, partsOf, type SoakOptions } from './plan.ts';
import type { Processes, ProcessReport } from './processes.ts';
import { type Meter, readMeter, readSample, type Sample } from './sample.ts';

export interface Steady {
  samples: Sample[];
  /** Of all connections, after all processes have stopped. */
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
/** An upper bound. */
const insertMsPerConnection = 0.2;

/** Keeps the planned load for `minutes` and takes a sample every minute. */
export async function runSteady(
  bench: Bench,
  processes: Processes,
  plan: Plan,
  minutes: number,
): Promise<Steady> {
  const url = await bench.createDatabase('soak');
  return withClient(url, async (client) => {
    const fleet = await createFleet(client, url, plan.connections, 'soak');
    await fleet.engine.stop();
    // For the checks: without statistics in the first minutes, the planner would choose nested loops that take minutes.
    await client.query(`SET work_mem = '128MB'; SET enable_nestloop = off; SET jit = off`);
    const run = { client, url, fleet, processes, plan };
    const first = await start(run);
    const samples = await takeSamples(run, minutes);
    const last = await processes.send('stop');
    const checked = { schema: fleet.schema, plan, minute: minutes, part: [0, 1] as [number, number] };
    const endViolations = await findViolations(client, checked, { isEnd: true });
    const reports = [first, ...samples.map((sample) => sample.processes), last].flat();
    return { samples, endViolations, lostCalls: await countLostCalls(run, reports) };
  });
}

/** Connections come due evenly from the first second on, so no burst persists. */
async function start({ client, url, fleet, processes, plan }: Run): Promise<ProcessReport[]> {
  const { connections, intervalSeconds, retentionMinutes } = plan;
  progress(`inserting ${whole(connections)} connections`);
  const from = new Date(Date.now() + startMs + 10_000 + insertMsPerConnection * connections);
  const overSeconds = cycleSeconds(intervalSeconds);
  await fillConnections(client, fleet, { due: connections, from, overSeconds, intervalSeconds });
  const leftMs = from.getTime() - Date.now() - startMs;
  if (leftMs < 0) progress(`the inserts took ${whole(-leftMs / 1000)} s too long: the first are overdue`);
  await delay(Math.max(0, leftMs));
  const reports = await processes.start(url, fleet, retentionMinutes);
  await delay(Math.max(0, from.getTime() - Date.now()));
  return reports;
}

async function takeSamples(run: Run, minutes: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedMs = performance.now();
  let before = await readMeter(run.client, run.fleet.schema);
  for (let minute = 1; minute <= minutes; minute++) {
    // Relative to the start, so the time of the checks does not accumulate.
    await delay(Math.max(0, startedMs + minute * 60_000 - performance.now()));
    const after = await readMeter(run.client, run.fleet.schema);
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
  const checked = { schema: fleet.schema, plan, minute, part: [minute % parts, parts] as [number, number] };
  let violations: Violation[] = [];
  const checksMs = await timeMs(async () => {
    violations = await findViolations(client, checked);
  });
  return { minute, ...measured, processes: await processes.send('report'), violations, checksMs };
}

function describe(
  { syncsPerSecond, lagMs, undisturbedLagMs, tables, processes }: Sample,
  plan: Plan,
): string {
  const logs = processes.map(({ log }) => log);
  return [
    `${whole(syncsPerSecond)} of ${whole(plan.perSecond)} syncs/s`,
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
