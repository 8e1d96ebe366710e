import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
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

/** Everything is overdue at first, and placing all of it takes what syncs need; nothing is deleted or vacuumed yet. */
const warmUpMs = 90_000;
const measuredMinutes = 2;
const lookEveryMs = 5000;
/** So that in the measured minutes as much is deleted as later on. */
const retentionMinutes = 0.75;
const database = 'soak_capacity';

/**
 * How many syncs a second the fleet does when there is always more to do, in the slower one of two minutes: placed, run, stored
 * and deleted again. Tried with twice as many connections where work ran out.
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
    const minutes: Saturated[] = [];
    for (let i = 0; i < measuredMinutes; i++) minutes.push(await measureMinute(client, fleet.schema));
    await processes.tell({ action: 'stop' });
    return {
      perSecond: Math.min(...minutes.map((minute) => minute.perSecond)),
      connections,
      fillMsPerConnection: fillMs / connections,
      ranOut: minutes.some((minute) => minute.ranOut),
    };
  });
  await bench.dropDatabase(database);
  if (!ranOut) return capacity;
  progress(`capacity: work ran out at ${whole(capacity.perSecond)} syncs/s; again with more connections`);
  return measureCapacity(bench, processes, connections * 2);
}

interface Saturated {
  perSecond: number;
  /** Nothing was due for a moment: then it was not the most that could be done. */
  ranOut: boolean;
}

async function measureMinute(client: pg.Client, schema: string): Promise<Saturated> {
  const before = await readMeter(client, schema);
  let ranOut = false;
  for (let passedMs = 0; passedMs < 60_000; passedMs += lookEveryMs) {
    await delay(lookEveryMs);
    const { rowCount } = await client.query(
      `SELECT FROM ${schema}.sync_jobs WHERE status = 'queued' AND NOT blocked AND retry_after IS NULL AND scheduled_at < now() LIMIT 1`,
    );
    ranOut ||= rowCount === 0;
  }
  const after = await readMeter(client, schema);
  const perSecond = ((after.syncs - before.syncs) / (after.atMs - before.atMs)) * 1000;
  progress(`capacity: ${whole(perSecond)} syncs/s`);
  return { perSecond, ranOut };
}
