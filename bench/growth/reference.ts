import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { createFleet, type Fleet } from '../tools/fleet.ts';
import { queueDueJobs } from '../tools/queue.ts';
import { median, timeMs } from '../tools/report.ts';
import { connectBare, drainBare } from './bare.ts';

/**
 * How fast the machine is right now: SQL that does the work of the executor, on tables made anew each time, while nothing
 * else of the benchmark runs.
 */
export interface Reference {
  jobsPerSecond(): Promise<number>;
  stop(): Promise<void>;
}

const jobs = 10_000;
const rounds = 3;
const batchSize = 200;
const patienceMs = 60_000;

export async function createReference(client: pg.Client, url: string): Promise<Reference> {
  const fleet = await createFleet(client, url, jobs, 'reference');
  const connections = await Promise.all([connectBare(url), connectBare(url)]);
  return {
    async jobsPerSecond() {
      await untilQuiet(client);
      const rates: number[] = [];
      for (let round = 0; round < rounds; round++) rates.push(await drainOnce(client, fleet, connections));
      return median(rates);
    },
    async stop() {
      await Promise.all([fleet.engine.stop(), ...connections.map((connection) => connection.end())]);
    },
  };
}

/** What was under load just now is vacuumed when that has ended. */
async function untilQuiet(client: pg.Client): Promise<void> {
  const latest = performance.now() + patienceMs;
  while (performance.now() < latest) {
    const { rows } = await client.query(
      `SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'`,
    );
    if (rows.length === 0) return;
    await delay(500);
  }
}

async function drainOnce(client: pg.Client, fleet: Fleet, connections: pg.Client[]): Promise<number> {
  await queueDueJobs(client, fleet);
  let done = 0;
  const ms = await timeMs(async () => {
    const drained = connections.map((connection) => drainBare(connection, fleet, batchSize));
    for (const count of await Promise.all(drained)) done += count;
  });
  if (done !== jobs) throw new Error(`The reference did ${done} of ${jobs} jobs.`);
  return (jobs / ms) * 1000;
}
