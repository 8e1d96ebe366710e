import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Syncline } from '../../dist/index.js';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import type { EngineReport, StartOrder } from '../engine/worker.ts';
import type { Bench } from '../tools/bench.ts';
import { type Child, startChild } from '../tools/child.ts';
import { withClient } from '../tools/client.ts';
import { fillCycling } from '../tools/cycling.ts';
import { createFleet, type Fleet } from '../tools/fleet.ts';
import { fixed, median, progress, quantile, table, verdict, whole } from '../tools/report.ts';
import { type Sample, samplesOf, triggerInTurns } from './samples.ts';
import { addWatched, watchedTenant } from './watched.ts';
import type { ConsumerOrder, ConsumerReport } from './worker.ts';

export interface LatencyScale {
  samples: number;
  /** Connections that are overdue when the most that one process can do is measured. */
  saturated: number;
  saturatedRounds: number;
  /** How long the load runs before triggers are made: a tick of the scheduler, and a little. */
  warmUpSeconds: number;
}

export const latencyScales: Record<'full' | 'quick', LatencyScale> = {
  full: { samples: 400, saturated: 60_000, saturatedRounds: 3, warmUpSeconds: 70 },
  quick: { samples: 40, saturated: 10_000, saturatedRounds: 1, warmUpSeconds: 10 },
};

export interface LatencyResult {
  executor: { concurrency: number; claimBatch: number };
  idle: { connections: number; samples: Sample[] };
  /** Syncs per second of one process with all roles, placing included, of each round. */
  saturatedPerSecond: number[];
  load: {
    part: number;
    connections: number;
    /** What came due, and what was done while triggers were made. */
    duePerSecond: number;
    syncsPerSecond: number;
    /** Of the load itself, from when a job was due until its connector was called: at these parts of all syncs. */
    lagMs: { p50: number; p99: number; most: number };
    /** Processor time of the server's process, as a part of one core. */
    cores: number;
    samples: Sample[];
  };
}

/** An idle process must have started what was triggered within this, 99 of 100 times. */
export const idleGoalMs = 20;
const loadPart = 0.8;
const idleConnections = 10_000;
const intervalSeconds = 60;
/** An interval, and half of the most jitter: how long it takes until a connection that ran is due again. */
const cycleSeconds = 66;
const executor = { concurrency: 400, claimBatch: 200 };
const settleMs = 3000;
/** The feed is looked at five times a second: by then a consumer has got what is there. */
const feedMs = 1500;

interface Parts {
  client: pg.Client;
  url: string;
  fleet: Fleet;
  api: Syncline;
  server: EngineProcess;
  consumer: Child<ConsumerOrder, ConsumerReport>;
}

/** From `trigger` until the connector is called, until its signal is there, and until a consumer has it. */
export async function measureLatency(bench: Bench, scale: LatencyScale): Promise<LatencyResult> {
  const url = await bench.createDatabase('bench_latency');
  const server = startEngine();
  const consumer = startChild<ConsumerOrder, ConsumerReport>(new URL('worker.ts', import.meta.url));
  try {
    return await withClient(url, async (client) => {
      const fleet = await createFleet(client, url, idleConnections, 'latency');
      const parts = { client, url, fleet, api: fleet.engine, server, consumer };
      try {
        const idle = await measureIdle(parts, scale);
        const saturatedPerSecond = await measureSaturated(parts, scale);
        const load = await measureLoad(parts, scale, median(saturatedPerSecond));
        return { executor, idle, saturatedPerSecond, load };
      } finally {
        await fleet.engine.stop();
      }
    });
  } finally {
    await Promise.all([server.end(), consumer.end()]);
    await bench.dropDatabase('bench_latency');
  }
}

async function measureIdle(parts: Parts, scale: LatencyScale): Promise<LatencyResult['idle']> {
  const { client, fleet } = parts;
  progress(`latency: ${scale.samples} triggers of an idle process`);
  await fillCycling(client, fleet, { due: 0, from: new Date(), cycleSeconds: 1, intervalSeconds: 3600 });
  const connectionIds = await addWatched(client, fleet);
  await startBoth(parts);
  await delay(settleMs);
  const asked = await triggerInTurns(parts, connectionIds, scale.samples);
  const { startedAt, fedAt } = await stopBoth(parts);
  return { connections: fleet.size, samples: samplesOf(asked, startedAt, fedAt) };
}

async function measureSaturated(parts: Parts, scale: LatencyScale): Promise<number[]> {
  const { client, fleet, server } = parts;
  const rates: number[] = [];
  for (let round = 0; round < scale.saturatedRounds; round++) {
    fleet.size = scale.saturated;
    const from = new Date(Date.now() - 60_000);
    const all = { due: fleet.size, from, cycleSeconds: 50, intervalSeconds: 3600 };
    await fillCycling(client, fleet, all);
    const started = performance.now();
    await startBoth(parts, {}, { jitterPctMax: 0 });
    let syncs = 0;
    while (syncs < fleet.size) {
      await delay(50);
      syncs += (await server.tell({ action: 'report' })).syncs;
    }
    rates.push(syncs / ((performance.now() - started) / 1000));
    await stopBoth(parts);
    progress(`latency: at most ${whole(rates.at(-1) ?? 0)} syncs per second, placing included`);
  }
  return rates;
}

async function measureLoad(
  parts: Parts,
  scale: LatencyScale,
  mostPerSecond: number,
): Promise<LatencyResult['load']> {
  const { client, fleet, server } = parts;
  const duePerSecond = mostPerSecond * loadPart;
  fleet.size = Math.round(duePerSecond * cycleSeconds);
  progress(`latency: ${whole(fleet.size)} connections, ${whole(duePerSecond)} due per second`);
  const from = new Date(Date.now() + 2000);
  await fillCycling(client, fleet, { due: fleet.size, from, cycleSeconds, intervalSeconds });
  const connectionIds = await addWatched(client, fleet);
  await startBoth(parts, { tellsLags: true });
  await delay(scale.warmUpSeconds * 1000);
  await server.tell({ action: 'report' });
  const started = performance.now();
  progress(`latency: ${scale.samples} triggers under load`);
  const asked = await triggerInTurns(parts, connectionIds, scale.samples);
  const { report, fedAt } = await stopBoth(parts);
  const seconds = (performance.now() - started) / 1000;
  const lag = (part: number) => quantile(report.lagsMs, part);
  return {
    part: loadPart,
    connections: fleet.size,
    duePerSecond,
    syncsPerSecond: report.syncs / seconds,
    lagMs: { p50: lag(0.5), p99: lag(0.99), most: lag(1) },
    cores: report.cpuMs / 1000 / seconds,
    samples: samplesOf(asked, report.startedAt, fedAt),
  };
}

async function startBoth(
  { server, consumer, fleet, url }: Parts,
  more: Partial<StartOrder> = {},
  scheduler: StartOrder['options']['scheduler'] = {},
): Promise<void> {
  const { schema } = fleet.engine.config.database;
  await consumer.tell({ action: 'start', url, schema, tenant: watchedTenant });
  const options = { database: { url, schema }, executor, scheduler };
  const roles: StartOrder['roles'] = ['scheduler', 'executor', 'janitor'];
  await server.tell({ action: 'start', roles, options, watchedTenant, ...more });
}

async function stopBoth({ server, consumer }: Parts): Promise<{
  report: EngineReport;
  startedAt: Map<string, number>;
  fedAt: ConsumerReport;
}> {
  await delay(feedMs);
  const report = await server.tell({ action: 'stop' });
  const fedAt = await consumer.tell({ action: 'stop' });
  return { report, startedAt: report.startedAt, fedAt };
}

export function latencyTable({ idle, load }: LatencyResult): string {
  const row = (label: string, samples: Sample[], key: keyof Sample, goalMs?: number) => {
    const values = samples.map((sample) => sample[key]);
    const p99 = quantile(values, 0.99);
    const goal = goalMs === undefined ? '' : `≤ ${goalMs}: ${verdict(p99 <= goalMs)}`;
    return [label, ...[quantile(values, 0.5), p99, quantile(values, 1)].map(fixed(1)), goal];
  };
  const rows = (label: string, samples: Sample[], goalMs?: number) => [
    row(`${label}: trigger returned`, samples, 'acknowledgedMs'),
    row(`${label}: connector called`, samples, 'startedMs', goalMs),
    row(`${label}: signal in the table`, samples, 'visibleMs'),
    row(`${label}: signal with the consumer`, samples, 'fedMs'),
  ];
  return table(
    ['Since the trigger', 'p50, ms', 'p99, ms', 'most, ms', 'goal for p99'],
    [
      ...rows('idle', idle.samples, idleGoalMs),
      ...rows(`${whole(load.syncsPerSecond)} syncs/s`, load.samples),
    ],
  );
}
