import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type EngineProcess, startEngine } from '../engine/engine.ts';
import type { Fleet } from '../tools/fleet.ts';
import { fixed, progress, quantile, whole } from '../tools/report.ts';
import { makeDue } from './due.ts';

/** From when connections were due until their connector was called. */
export interface StartLag {
  connections: number;
  p50Ms: number;
  p99Ms: number;
  mostMs: number;
}

export interface LagLoad {
  perSecond: number;
  seconds: number;
  rounds: number;
}

/** The first come due before the second tick looks, the last after it. */
const leadMs = 8000;
const tickIntervalSeconds = 10;
const afterMs = 3000;

/** One process with all roles, on one fleet after the other; a round of raw figures for each. */
export async function measureLags(
  client: pg.Client,
  url: string,
  fleets: Fleet[],
  load: LagLoad,
): Promise<StartLag[][]> {
  const server = startEngine();
  const rounds: StartLag[][] = [];
  try {
    for (let round = 0; round < load.rounds; round++) {
      const lags: StartLag[] = [];
      for (let turn = 0; turn < fleets.length; turn++) {
        const i = (turn + round) % fleets.length;
        lags[i] = await lagOf(client, url, { server, fleet: fleets[i] as Fleet, load });
      }
      rounds.push(lags);
    }
    return rounds;
  } finally {
    await server.end();
  }
}

async function lagOf(
  client: pg.Client,
  url: string,
  { server, fleet, load }: { server: EngineProcess; fleet: Fleet; load: LagLoad },
): Promise<StartLag> {
  const count = load.perSecond * load.seconds;
  const from = new Date(Date.now() + leadMs);
  await makeDue(client, fleet, { first: 0, count, from, overSeconds: load.seconds });
  await server.tell({
    action: 'start',
    roles: ['scheduler', 'executor', 'janitor'],
    options: {
      database: { url, schema: fleet.engine.config.database.schema },
      // Without jitter a job is scheduled for when its connection is due.
      scheduler: { tickIntervalSeconds, jitterPctMax: 0 },
    },
    tellsLags: true,
  });
  await delay(from.getTime() + load.seconds * 1000 + afterMs - Date.now());
  const { lagsMs } = await server.tell({ action: 'stop' });
  if (lagsMs.length !== count) throw new Error(`${fleet.name}: ${count} were due, ${lagsMs.length} ran`);
  const lag = (part: number) => quantile(lagsMs, part);
  progress(
    `many schedules: ${whole(fleet.size)}: lag ${fixed(1)(lag(0.5))} ms, p99 ${fixed(1)(lag(0.99))} ms`,
  );
  return { connections: fleet.size, p50Ms: lag(0.5), p99Ms: lag(0.99), mostMs: lag(1) };
}
