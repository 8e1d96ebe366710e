import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type EngineProcess, executor, startEngine } from '../engine/engine.ts';
import type { EngineReport, StartCommand } from '../engine/worker.ts';
import { createFleet, type Fleet, fillConnections } from '../tools/fleet.ts';
import { type Bench, withClient } from '../tools/postgres.ts';
import { median, progress, quantile, whole } from '../tools/text.ts';
import { addWatched, type Sample, triggerEach, watchedTenant } from './triggers.ts';

export interface LatencyResult {
  idle: { samples: Sample[] };
  load: {
    /** Fraction of the capacity that comes due. */
    part: number;
    syncsPerSecond: number;
    /** From due to connector call, of the load itself. */
    lagMs: { p50: number; p99: number };
    samples: Sample[];
  };
}

const scales = {
  full: { samples: 400, overdue: 60_000, capacityRounds: 3, warmUpSeconds: 70 },
  quick: { samples: 40, overdue: 10_000, capacityRounds: 1, warmUpSeconds: 10 },
};
type Scale = (typeof scales)['full'];

const loadPart = 0.8;
const idleConnections = 10_000;
/** Mean time between two runs with an interval of 60 s: the interval and half of the maximum jitter. */
const cycleSeconds = 66;

interface Run {
  client: pg.Client;
  url: string;
  fleet: Fleet;
  server: EngineProcess;
}

/** Measures one process with all roles: idle, then at a part of its capacity. */
export async function measureLatency(bench: Bench, scaleName: 'full' | 'quick'): Promise<LatencyResult> {
  const scale = scales[scaleName];
  const url = await bench.createDatabase('bench_latency');
  const server = startEngine();
  try {
    return await withClient(url, async (client) => {
      const fleet = await createFleet(client, url, idleConnections, 'latency');
      const run = { client, url, fleet, server };
      const idle = await measureIdle(run, scale);
      const load = await measureLoad(run, scale, await measureCapacity(run, scale));
      await fleet.engine.stop();
      return { idle, load };
    });
  } finally {
    await server.end();
    await bench.dropDatabase('bench_latency');
  }
}

async function measureIdle(run: Run, scale: Scale): Promise<LatencyResult['idle']> {
  const { client, fleet } = run;
  progress(`latency: ${scale.samples} triggers, idle process`);
  await fillConnections(client, fleet, { due: 0, from: new Date(), overSeconds: 1, intervalSeconds: 3600 });
  const connectionIds = await addWatched(client, fleet);
  await start(run);
  await delay(3000);
  const samplesOf = await triggerEach(client, fleet, connectionIds, scale.samples);
  return { samples: samplesOf((await stop(run)).startedAt) };
}

/** Syncs per second of one process with all roles when all connections are overdue. */
async function measureCapacity(run: Run, scale: Scale): Promise<number> {
  const { client, fleet, server } = run;
  const rates: number[] = [];
  fleet.size = scale.overdue;
  for (let round = 0; round < scale.capacityRounds; round++) {
    const from = new Date(Date.now() - 60_000);
    await fillConnections(client, fleet, { due: fleet.size, from, overSeconds: 50, intervalSeconds: 3600 });
    const started = performance.now();
    await start(run, { jitterPctMax: 0 });
    let syncs = 0;
    while (syncs < fleet.size) {
      await delay(100);
      syncs += (await server.send({ action: 'report' })).calls;
    }
    rates.push(syncs / ((performance.now() - started) / 1000));
    await stop(run);
    progress(`latency: capacity ${whole(rates.at(-1) ?? 0)} syncs per second, scheduling included`);
  }
  return median(rates);
}

async function measureLoad(run: Run, scale: Scale, capacity: number): Promise<LatencyResult['load']> {
  const { client, fleet, server } = run;
  fleet.size = Math.round(capacity * loadPart * cycleSeconds);
  progress(`latency: ${whole(fleet.size)} connections, ${whole(capacity * loadPart)} due per second`);
  const cycle = { from: new Date(Date.now() + 2000), overSeconds: cycleSeconds, intervalSeconds: 60 };
  await fillConnections(client, fleet, { due: fleet.size, ...cycle });
  const connectionIds = await addWatched(client, fleet);
  await start(run);
  await delay(scale.warmUpSeconds * 1000);
  await server.send({ action: 'report' });
  const started = performance.now();
  progress(`latency: ${scale.samples} triggers under load`);
  const samplesOf = await triggerEach(client, fleet, connectionIds, scale.samples);
  const { calls, lagsMs, startedAt } = await stop(run);
  return {
    part: loadPart,
    syncsPerSecond: calls / ((performance.now() - started) / 1000),
    lagMs: { p50: quantile(lagsMs, 0.5), p99: quantile(lagsMs, 0.99) },
    samples: samplesOf(startedAt),
  };
}

async function start(
  { server, fleet, url }: Run,
  scheduler: StartCommand['options']['scheduler'] = {},
): Promise<void> {
  await server.send({
    action: 'start',
    roles: ['scheduler', 'executor', 'janitor'],
    options: { database: { url, schema: fleet.schemaName }, executor, scheduler },
    connector: 'instant',
    watchedTenant,
    reportLags: true,
  });
}

const stop = ({ server }: Run): Promise<EngineReport> => server.send({ action: 'stop' });
