import { setTimeout as delay } from 'node:timers/promises';
import { createFleet, fillConnections } from '../tools/fleet.ts';
import type { Bench } from '../tools/postgres.ts';
import { progress, whole } from '../tools/text.ts';
import type { Processes } from './processes.ts';
import { readMeter } from './sample.ts';

/** At first all connections are overdue, and nothing is deleted or vacuumed. */
const warmUpMs = 90_000;
const measuredMinutes = 2;
const pollMs = 5000;
/** Short, so that the janitor deletes as many rows during the measurement as later. */
const retentionMinutes = 0.75;

/** Syncs per second in the slower of two minutes. Repeats with twice as many connections if work runs out. */
export async function measureCapacity(
  bench: Bench,
  processes: Processes,
  connections: number,
): Promise<number> {
  let ranOut = false;
  const rates: number[] = [];
  await bench.withDatabase('soak_capacity', async (client, url) => {
    progress(`capacity: ${whole(connections)} connections, all overdue`);
    const fleet = await createFleet(client, url, connections);
    const from = new Date(Date.now() - 60_000);
    await fillConnections(client, fleet, { from, overSeconds: 60, intervalSeconds: 60 });
    await processes.start(url, fleet, retentionMinutes);
    await delay(warmUpMs);
    for (let minute = 0; minute < measuredMinutes; minute++) {
      const before = await readMeter(client, fleet);
      for (let passedMs = 0; passedMs < 60_000; passedMs += pollMs) {
        await delay(pollMs);
        const { rowCount } = await client.query(
          `SELECT FROM ${fleet.schema}.sync_jobs
           WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at < now() LIMIT 1`,
        );
        ranOut ||= rowCount === 0;
      }
      const after = await readMeter(client, fleet);
      rates.push(((after.syncs - before.syncs) / (after.atMs - before.atMs)) * 1000);
      progress(`capacity: ${whole(rates.at(-1) ?? 0)} syncs/s`);
    }
    await processes.stop();
  });
  if (!ranOut) return Math.min(...rates);
  progress('capacity: work ran out; repeating with more connections');
  return measureCapacity(bench, processes, connections * 2);
}
