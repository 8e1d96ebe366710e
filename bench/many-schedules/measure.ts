import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import type { Syncline } from '../../dist/index.js';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import { createFleet, type Fleet, fillConnections, openEngine } from '../tools/fleet.ts';
import type { Bench } from '../tools/postgres.ts';
import { fixed, progress, quantile, timeMs, whole } from '../tools/text.ts';
import { measurePeers, type PeerResult } from './peers.ts';

/** Peers run with the first `peers` sizes. */
const scales = {
  full: { sizes: [1000, 10_000, 100_000, 1_000_000], rounds: 31, lagRounds: 5, peers: 3, peerRounds: 5 },
  quick: { sizes: [1000, 10_000, 100_000], rounds: 11, lagRounds: 1, peers: 1, peerRounds: 1 },
};
const due = 100;
const lag = { perSecond: 200, seconds: 5 };
const warmUps = 5;
/** The first connections come due before the second tick, the last after it. */
const leadMs = 8000;
const tickIntervalSeconds = 10;

export interface Ticks {
  connections: number;
  nothingDueMs: number[];
  someDueMs: number[];
}

export interface ManySchedulesResult {
  due: number;
  ticks: Ticks[];
  lag: typeof lag;
  /** By round and size. */
  lags: { p50Ms: number; p99Ms: number }[][];
  peers: PeerResult[];
}

type TickedFleet = Fleet & { engine: Syncline };

/** Measures the cost of a tick and the start lag as the number of schedules grows. */
export async function measureManySchedules(
  bench: Bench,
  scaleName: 'full' | 'quick',
): Promise<ManySchedulesResult> {
  const { sizes, rounds, lagRounds, peers, peerRounds } = scales[scaleName];
  const own = await bench.withDatabase('bench_many_schedules', async (client, url) => {
    const fleets: TickedFleet[] = [];
    for (const size of sizes) {
      progress(`many schedules: inserting ${whole(size)} connections`);
      const fleet = await createFleet(client, url, size, `bench_${size}`);
      await fillConnections(client, fleet, { due: 0, from: new Date(), overSeconds: 1 });
      fleets.push({ ...fleet, engine: openEngine(url, fleet.schemaName) });
    }
    const ticks = await measureTicks(client, fleets, rounds);
    await Promise.all(fleets.map(({ engine }) => engine.stop()));
    const server = startEngine();
    const lags = await rotate(fleets, lagRounds, (fleet) => measureLag(client, url, server, fleet));
    await server.end();
    return { due, ticks, lag, lags };
  });
  return { ...own, peers: await measurePeers(bench, sizes.slice(0, peers), peerRounds, due) };
}

/** Each round starts with another fleet. */
async function rotate<T>(
  fleets: TickedFleet[],
  rounds: number,
  measure: (fleet: TickedFleet, round: number) => Promise<T>,
): Promise<T[][]> {
  const results: T[][] = [];
  for (let round = 0; round < rounds; round++) {
    const values: T[] = [];
    for (let turn = 0; turn < fleets.length; turn++) {
      const i = (turn + round) % fleets.length;
      values[i] = await measure(fleets[i] as TickedFleet, round);
    }
    results.push(values);
  }
  return results;
}

async function measureTicks(client: pg.Client, fleets: TickedFleet[], rounds: number): Promise<Ticks[]> {
  progress(`many schedules: ${rounds} ticks with nothing due and with ${due} due`);
  const ticks = async (count: number) =>
    (await rotate(fleets, rounds + warmUps, (fleet, round) => timeTick(client, fleet, count, round))).slice(
      warmUps,
    );
  const [nothingDue, someDue] = [await ticks(0), await ticks(due)];
  return fleets.map(({ size }, i) => ({
    connections: size,
    nothingDueMs: nothingDue.map((round) => round[i] as number),
    someDueMs: someDue.map((round) => round[i] as number),
  }));
}

async function timeTick(
  client: pg.Client,
  fleet: TickedFleet,
  count: number,
  round: number,
): Promise<number> {
  if (count > 0) await makeDue(client, fleet, round * count, count, new Date(Date.now() - 1000), 0);
  let scheduled = 0;
  const ms = await timeMs(async () => {
    scheduled = (await fleet.engine.tick()).scheduled;
  });
  if (count > 0) await client.query(`DELETE FROM ${fleet.schema}.sync_jobs`);
  if (scheduled !== count) throw new Error(`${count} were due, the tick scheduled ${scheduled}`);
  return ms;
}

async function measureLag(client: pg.Client, url: string, server: EngineProcess, fleet: Fleet) {
  const count = lag.perSecond * lag.seconds;
  const from = new Date(Date.now() + leadMs);
  await makeDue(client, fleet, 0, count, from, lag.seconds);
  // Without jitter a job is scheduled at the due time of its connection.
  const scheduler = { tickIntervalSeconds, jitterPctMax: 0 };
  await server.call('start', {
    roles: ['scheduler', 'executor', 'janitor'],
    options: { database: { url, schema: fleet.schemaName }, scheduler },
    connector: 'instant',
    reportLags: true,
  });
  await delay(from.getTime() + lag.seconds * 1000 + 3000 - Date.now());
  const { lagsMs } = await server.call('stop');
  if (lagsMs.length !== count) throw new Error(`${count} were due, ${lagsMs.length} ran`);
  const [p50Ms, p99Ms] = [quantile(lagsMs, 0.5), quantile(lagsMs, 0.99)];
  progress(`many schedules: ${whole(fleet.size)}: lag ${fixed(1)(p50Ms)} ms, p99 ${fixed(1)(p99Ms)} ms`);
  return { p50Ms, p99Ms };
}

/** Makes `count` connections due, evenly over `overSeconds`. Their numbers start at `first` and wrap around. */
async function makeDue(
  client: pg.Client,
  { schema, size }: Fleet,
  first: number,
  count: number,
  from: Date,
  overSeconds: number,
): Promise<void> {
  await client.query(
    `UPDATE ${schema}.connections c
     SET metadata = ${schema}.patch_sync(c.metadata, jsonb_build_object(
           'next_run_at', to_char(due.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))),
         last_incremental_ended_at = due.due_at - (c.metadata #>> '{sync,interval_seconds}')::int * interval '1 s'
     FROM (
       SELECT md5('connection' || 1 + (n + $2::int) % ${size})::uuid AS id,
         date_trunc('milliseconds', $1::timestamptz + n * $4::float8 / $3::int * interval '1 s') AS due_at
       FROM generate_series(0, $3::int - 1) n) due
     WHERE c.id = due.id`,
    [from, first, count, overSeconds],
  );
}
