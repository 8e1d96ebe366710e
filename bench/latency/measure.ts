import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type EngineProcess, executor, startEngine } from '../engine/engine.ts';
import type { StartOptions } from '../engine/worker.ts';
import { createFleet, type Fleet, fillConnections } from '../tools/fleet.ts';
import type { Bench } from '../tools/postgres.ts';
import { median, progress, quantile, whole } from '../tools/text.ts';
import { addWatched, type Sample, triggerEach, watchedTenant } from './triggers.ts';

export interface LatencyResult {
  idle: { samples: Sample[] };
  load: {
    part: number;
    syncsPerSecond: number;
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

export function measureLatency(bench: Bench, scaleName: 'full' | 'quick'): Promise<LatencyResult> {
  const scale = scales[scaleName];
  return bench.withDatabase('bench_latency', async (client, url) => {
    const server = startEngine();
    try {
      const run = { client, url, server, fleet: await createFleet(client, url, idleConnections) };
      const idle = await measureIdle(run, scale);
      return { idle, load: await measureLoad(run, scale, await measureCapacity(run, scale)) };
    } finally {
      await server.end();
    }
  });
}

async function measureIdle(run: Run, scale: Scale): Promise<LatencyResult['idle']> {
  const { client, url, fleet, server } = run;
  progress(`latency: ${scale.samples} triggers, idle process`);
  await fillConnections(client, fleet, { due: 0, from: new Date(), overSeconds: 1 });
  await addWatched(client, fleet);
  await start(run);
  await delay(3000);
  const samplesOf = await triggerEach(client, url, fleet, scale.samples);
  return { samples: samplesOf((await server.call('stop')).startedAt) };
}

async function measureCapacity(run: Run, scale: Scale): Promise<number> {
  const { client, fleet, server } = run;
  const rates: number[] = [];
  fleet.size = scale.overdue;
  for (let round = 0; round < scale.capacityRounds; round++) {
    const from = new Date(Date.now() - 60_000);
    await fillConnections(client, fleet, { from, overSeconds: 50 });
    const started = performance.now();
    await start(run, { jitterPctMax: 0 });
    let syncs = 0;
    while (syncs < fleet.size) {
      await delay(100);
      syncs += (await server.call('report')).calls;
    }
    rates.push(syncs / ((performance.now() - started) / 1000));
    await server.call('stop');
    progress(`latency: capacity ${whole(rates.at(-1) ?? 0)} syncs per second, scheduling included`);
  }
  return median(rates);
}

async function measureLoad(run: Run, scale: Scale, capacity: number): Promise<LatencyResult['load']> {
  const { client, url, fleet, server } = run;
  fleet.size = Math.round(capacity * loadPart * cycleSeconds);
  progress(`latency: ${whole(fleet.size)} connections, ${whole(capacity * loadPart)} due per second`);
  const from = new Date(Date.now() + 2000);
  await fillConnections(client, fleet, { from, overSeconds: cycleSeconds, intervalSeconds: 60 });
  await addWatched(client, fleet);
  await start(run);
  await delay(scale.warmUpSeconds * 1000);
  await server.call('report');
  const started = performance.now();
  progress(`latency: ${scale.samples} triggers under load`);
  const samplesOf = await triggerEach(client, url, fleet, scale.samples);
  const { calls, lagsMs, startedAt } = await server.call('stop');
  return {
    part: loadPart,
    syncsPerSecond: calls / ((performance.now() - started) / 1000),
    lagMs: { p50: quantile(lagsMs, 0.5), p99: quantile(lagsMs, 0.99) },
    samples: samplesOf(startedAt),
  };
}

function start({ server, fleet, url }: Run, scheduler: StartOptions['options']['scheduler'] = {}) {
  return server.call('start', {
    roles: ['scheduler', 'executor', 'janitor'],
    options: { database: { url, schema: fleet.schemaName }, executor, scheduler },
    connector: 'instant',
    watchedTenant,
    reportLags: true,
  });
}
