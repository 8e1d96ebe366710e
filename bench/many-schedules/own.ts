import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import type { Fleet } from '../tools/fleet.ts';
import { fixed, progress, quantile, timeMs, whole } from '../tools/text.ts';

/** Durations of ticks, one per round. */
export interface Ticks {
  connections: number;
  nothingDueMs: number[];
  someDueMs: number[];
}

/** From due to connector call. */
export interface StartLag {
  connections: number;
  p50Ms: number;
  p99Ms: number;
}

export interface LagLoad {
  perSecond: number;
  seconds: number;
  rounds: number;
}

const warmUps = 5;
/** The first connections come due before the second tick, the last after it. */
const leadMs = 8000;
const tickIntervalSeconds = 10;
const afterMs = 3000;

/** Makes `count` connections of the fleet due, evenly over `overSeconds`. Numbers start at `first` and wrap around. */
async function makeDue(
  client: pg.Client,
  { schema, size }: Fleet,
  { first, count, from, overSeconds }: { first: number; count: number; from: Date; overSeconds: number },
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

/** Calls `measure` for each fleet in each round, starting with another fleet each time. */
async function rotate<T>(
  fleets: Fleet[],
  rounds: number,
  measure: (fleet: Fleet, round: number) => Promise<T>,
): Promise<T[][]> {
  const results: T[][] = [];
  for (let round = 0; round < rounds; round++) {
    const values: T[] = [];
    for (let turn = 0; turn < fleets.length; turn++) {
      const i = (turn + round) % fleets.length;
      values[i] = await measure(fleets[i] as Fleet, round);
    }
    results.push(values);
  }
  return results;
}

export async function measureTicks(
  client: pg.Client,
  fleets: Fleet[],
  due: number,
  rounds: number,
): Promise<Ticks[]> {
  const ticks = (count: number) =>
    rotate(fleets, rounds + warmUps, (fleet, round) => timeTick(client, fleet, count, round * count));
  progress(`many schedules: ${rounds} ticks with nothing due`);
  const nothingDue = (await ticks(0)).slice(warmUps);
  progress(`many schedules: ${rounds} ticks with ${whole(due)} due`);
  const someDue = (await ticks(due)).slice(warmUps);
  return fleets.map(({ size }, i) => ({
    connections: size,
    nothingDueMs: nothingDue.map((round) => round[i] as number),
    someDueMs: someDue.map((round) => round[i] as number),
  }));
}

async function timeTick(client: pg.Client, fleet: Fleet, due: number, first: number): Promise<number> {
  const from = new Date(Date.now() - 1000);
  if (due > 0) await makeDue(client, fleet, { first, count: due, from, overSeconds: 0 });
  let scheduled = 0;
  const ms = await timeMs(async () => {
    scheduled = (await fleet.engine.tick()).scheduled;
  });
  if (due > 0) await client.query(`DELETE FROM ${fleet.schema}.sync_jobs`);
  if (scheduled !== due) throw new Error(`${fleet.name}: ${due} were due, the tick scheduled ${scheduled}`);
  return ms;
}

/** Runs one process with all roles on one fleet after another. */
export async function measureLags(
  client: pg.Client,
  url: string,
  fleets: Fleet[],
  load: LagLoad,
): Promise<StartLag[][]> {
  const server = startEngine();
  try {
    return await rotate(fleets, load.rounds, (fleet) => measureLag(client, url, server, fleet, load));
  } finally {
    await server.end();
  }
}

async function measureLag(
  client: pg.Client,
  url: string,
  server: EngineProcess,
  fleet: Fleet,
  { perSecond, seconds }: LagLoad,
): Promise<StartLag> {
  const count = perSecond * seconds;
  const from = new Date(Date.now() + leadMs);
  await makeDue(client, fleet, { first: 0, count, from, overSeconds: seconds });
  await server.send({
    action: 'start',
    roles: ['scheduler', 'executor', 'janitor'],
    options: {
      database: { url, schema: fleet.schemaName },
      // Without jitter a job is scheduled at the due time of its connection.
      scheduler: { tickIntervalSeconds, jitterPctMax: 0 },
    },
    connector: 'instant',
    reportLags: true,
  });
  await delay(from.getTime() + seconds * 1000 + afterMs - Date.now());
  const { lagsMs } = await server.send({ action: 'stop' });
  if (lagsMs.length !== count) throw new Error(`${fleet.name}: ${count} were due, ${lagsMs.length} ran`);
  const [p50Ms, p99Ms] = [quantile(lagsMs, 0.5), quantile(lagsMs, 0.99)];
  progress(`many schedules: ${whole(fleet.size)}: lag ${fixed(1)(p50Ms)} ms, p99 ${fixed(1)(p99Ms)} ms`);
  return { connections: fleet.size, p50Ms, p99Ms };
}
