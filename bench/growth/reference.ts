import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { connectForProcedures, createProcedures, schedule, work } from '../comparison/limit.ts';
import { createFleet, fillConnections } from '../tools/fleet.ts';
import { median, sum, timeMs } from '../tools/text.ts';

const jobs = 10_000;
const rounds = 3;
const vacuumTimeoutMs = 60_000;

/** Returns a function that measures the speed of the machine: limit.sql on new tables, while no other load runs. */
export async function createReference(client: pg.Client, url: string): Promise<() => Promise<number>> {
  const fleet = await createFleet(client, url, jobs);
  await createProcedures(client, fleet.schemaName);
  const connect = () => connectForProcedures(url, fleet.schemaName);
  const sessions = await Promise.all([connect(), connect()]);
  return async () => {
    await untilVacuumed(client);
    const rates: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await fillConnections(client, fleet, { from: new Date(Date.now() - 10_000), overSeconds: 9 });
      await Promise.all(sessions.map(schedule));
      let done = 0;
      const ms = await timeMs(async () => {
        done = sum(await Promise.all(sessions.map(work)));
      });
      if (done !== jobs) throw new Error(`The reference ran ${done} of ${jobs} jobs.`);
      rates.push((jobs / ms) * 1000);
    }
    return median(rates);
  };
}

async function untilVacuumed(client: pg.Client): Promise<void> {
  const deadline = performance.now() + vacuumTimeoutMs;
  const workers = `SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'`;
  while ((await client.query(workers)).rowCount !== 0 && performance.now() < deadline) await delay(500);
}
