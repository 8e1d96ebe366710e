import { setTimeout as delay } from 'node:timers/promises';
import type { Bench } from '../tools/bench.ts';
import { withClient } from '../tools/client.ts';
import { fillCycling } from '../tools/cycling.ts';
import { createFleet } from '../tools/fleet.ts';
import { progress, timeMs, whole } from '../tools/report.ts';
import { shortestIntervalSeconds } from './plan.ts';
import type { Processes } from './processes.ts';
import { readMeter } from './sample.ts';
import { startOrder } from './start-order.ts';

export interface Capacity {
  perSecond: number;
  connections: number;
  /** What it took to write them, which tells how long it will take the next time. */
  fillMsPerConnection: number;
}

/** Everything is overdue at first, and placing all of it takes what syncs need. */
const warmUpMs = 60_000;
const measuredMs = 60_000;
const lookEveryMs = 5000;
/** So that within the measured minute as much is deleted as later on. */
const retentionMinutes = 0.75;
const database = 'soak_capacity';

/**
 * How many syncs a second the fleet does for a minute when there is always more to do: placed, run, stored and deleted again.
 * Tried with twice as many connections where work ran out.
 */
export async function measureCapacity(
  bench: Bench,
  processes: Processes,
  connections: number,
): Promise<Capacity> {
  const url = await bench.createDatabase(database);
  const { ranOut, ...capacity } = await withClient(url, async (client) => {
    progress(`capacity: ${whole(connections)} connections, all of them overdue`);
    const fleet = await createFleet(client, url, connections, 'capacity');
    await fleet.engine.stop();
    const fillMs = await timeMs(() =>
      fillCycling(client, fleet, {
        due: connections,
        from: new Date(Date.now() - shortestIntervalSeconds * 1000),
        cycleSeconds: shortestIntervalSeconds,
        intervalSeconds: shortestIntervalSeconds,
      }),
    );
    await processes.tell(startOrder(url, fleet, retentionMinutes));
    await delay(warmUpMs);
    const before = await readMeter(client, fleet.schema);
    let waited = false;
    for (let passed = 0; passed < measuredMs; passed += lookEveryMs) {
      await delay(lookEveryMs);
      const { rowCount } = await client.query(
        `SELECT FROM ${fleet.schema}.sync_jobs WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at < now() LIMIT 1`,
      );
      waited ||= rowCount === 0;
    }
    const after = await readMeter(client, fleet.schema);
    await processes.tell({ action: 'stop' });
    const perSecond = ((after.syncs - before.syncs) / (after.atMs - before.atMs)) * 1000;
    return { perSecond, connections, fillMsPerConnection: fillMs / connections, ranOut: waited };
  });
  await bench.dropDatabase(database);
  if (!ranOut) return capacity;
  progress(`capacity: work ran out at ${whole(capacity.perSecond)} syncs/s; again with more connections`);
  return measureCapacity(bench, processes, connections * 2);
}
