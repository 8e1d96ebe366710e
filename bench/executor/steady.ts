import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type Fleet, resetFleet, settle } from '../tools/fleet.ts';
import { fixed, progress, quantile, table, verdict, whole } from '../tools/report.ts';
import { insertJobs, verifySynced } from './queue.ts';
import { countStatements } from './statements.ts';
import type { Workers } from './workers.ts';

/** The start lag that 99 of 100 syncs must stay below, in milliseconds. */
const goalMs = 500;
/** Long enough to queue the jobs and start the processes before the first of them is due. */
const leadMs = 6000;
/** How long after the last job became due all must have ended. */
const patienceMs = 30_000;

export interface Steady {
  processes: number;
  perSecond: number;
  /** From when a job was due until its connector was called, in milliseconds, of every sync. */
  lags: number[];
  statementsPerSync: number;
}

/** Jobs come due evenly, one for each connection of the fleet: how late do they start? */
export async function measureSteady(
  { client, workers, fleet }: { client: pg.Client; workers: Workers; fleet: Fleet },
  { processes, seconds }: { processes: number; seconds: number },
): Promise<Steady> {
  const perSecond = fleet.size / seconds;
  progress(`steady load: ${whole(perSecond)} jobs come due per second, ${processes} processes`);
  await resetFleet(client, fleet, 'idle', new Date());
  const start = Date.now() + leadMs;
  // A prime steps through the connections in an order that has nothing to do with theirs on disk.
  const order = `(n * 7919::bigint % ${fleet.size})`;
  await insertJobs(client, fleet, {
    scheduled_at: `timestamptz '${new Date(start).toISOString()}' + ${order} / ${perSecond}::float8 * interval '1 s'`,
  });
  await settle(client, fleet);
  let lags: number[] = [];
  const statements = await countStatements(client, async () => {
    await workers.tell('start', fleet, processes);
    if (Date.now() > start) throw new Error('The jobs were due before the processes had started.');
    await delay(start + seconds * 1000 - Date.now());
    await untilEnded(client, fleet);
    lags = (await workers.tell('stop', fleet, processes)).flatMap((answer) => answer.lags);
  });
  await verifySynced(client, fleet, fleet.size);
  return { processes, perSecond, lags, statementsPerSync: statements / fleet.size };
}

async function untilEnded(client: pg.Client, { schema }: Fleet): Promise<void> {
  const latest = Date.now() + patienceMs;
  for (;;) {
    const { rows } = await client.query<{ pending: number }>(
      `SELECT count(*)::int AS pending FROM ${schema}.sync_jobs WHERE status IN ('queued', 'running')`,
    );
    if (rows[0]?.pending === 0) return;
    if (Date.now() > latest) throw new Error(`${rows[0]?.pending} jobs have not ended in time`);
    await delay(100);
  }
}

export function steadyTable({ processes, perSecond, lags, statementsPerSync }: Steady): string {
  const p99 = quantile(lags, 0.99);
  return table(
    [
      'Processes',
      'due/s',
      'syncs',
      'lag p50, ms',
      'p99, ms',
      'most, ms',
      `goal p99 ≤ ${goalMs}`,
      'statements per sync',
    ],
    [
      [
        String(processes),
        whole(perSecond),
        whole(lags.length),
        ...[quantile(lags, 0.5), p99, quantile(lags, 1)].map(whole),
        verdict(p99 <= goalMs),
        fixed(2)(statementsPerSync),
      ],
    ],
  );
}
