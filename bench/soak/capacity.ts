import { setTimeout as delay } from 'node:timers/promises';
import { createFleet, fillConnections } from '../tools/fleet.ts';
import { type Bench, withClient } from '../tools/postgres.ts';
import { progress, whole } from '../tools/text.ts';
import type { Processes } from './processes.ts';
import { readMeter } from './sample.ts';

/** At first all connections are overdue, and nothing is deleted or vacuumed. */
const warmUpMs = 90_000;
const measuredMinutes = 2;
const pollMs = 5000;
/** Short, so that the janitor deletes as many rows during the measurement as later. */
const retentionMinutes = 0.75;
const database = 'soak_capacity';

/** Syncs per second in the slower of two minutes. Repeats with twice as many connections if work runs out. */
export async function measureCapacity(
  bench: Bench,
  processes: Processes,
  connections: number,
): Promise<number> {
  const url = await bench.createDatabase(database);
  let ranOut = false;
  const rates: number[] = [];
  await withClient(url, async (client) => {
    progress(`capacity: ${whole(connections)} connections, all overdue`);
    const fleet = await createFleet(client, url, connections, 'capacity');
    await fleet.engine.stop();
    const overdue = { from: new Date(Date.now() - 60_000), overSeconds: 60, intervalSeconds: 60 };
    await fillConnections(client, fleet, { due: connections, ...overdue });
    await processes.start(url, fleet, retentionMinutes);
    await delay(warmUpMs);
    for (let minute = 0; minute < measuredMinutes; minute++) {
      const before = await readMeter(client, fleet.schema);
      for (let passedMs = 0; passedMs < 60_000; passedMs += pollMs) {
        await delay(pollMs);
        const { rowCount } = await client.query(
          `SELECT FROM ${fleet.schema}.sync_jobs
           WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at < now() LIMIT 1`,
        );
        ranOut ||= rowCount === 0;
      }
      const after = await readMeter(client, fleet.schema);
      rates.push(((after.syncs - before.syncs) / (after.atMs - before.atMs)) * 1000);
      progress(`capacity: ${whole(rates.at(-1) ?? 0)} syncs/s`);
    }
    await processes.send('stop');
  });
  await bench.dropDatabase(database);
  if (!ranOut) return Math.min(...rates);
  progress('capacity: work ran out; repeating with more connections');
  return measureCapacity(bench, processes, connections * 2);
}
