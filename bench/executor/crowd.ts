import type pg from 'pg';
import { createFleet, type Fleet, resetFleet, settle } from '../tools/fleet.ts';
import { fixed, median, progress, spread, table, timeMs, verdict, whole } from '../tools/report.ts';
import { connectionNumber, dueBefore, insertJobs, verifySynced } from './queue.ts';
import type { Workers } from './workers.ts';

/** How many times the cost with an otherwise empty queue a sync may take, whatever else waits. */
const goal = 1.5;

/** Jobs that are not to run, beside the fresh ones that are. The first case has none: the others are compared with it. */
interface Case {
  label: string;
  /** Queues them for the connections with these numbers; returns how many. */
  crowd: (client: pg.Client, fleet: Fleet, numbers: [first: number, last: number]) => Promise<number>;
}

const inAnHour = `now() + interval '1 hour' + n * interval '1 ms'`;
const anHourAgo = `now() - interval '1 hour' - n * interval '1 ms'`;

const cases: Case[] = [
  { label: 'nothing else', crowd: async () => 0 },
  {
    label: 'due later, half of a higher priority, a quarter backing off',
    crowd: async (client, fleet, numbers) => {
      await insertJobs(
        client,
        fleet,
        {
          priority: '(n % 2) * (1 + n % 10)',
          scheduled_at: `CASE n % 4 WHEN 0 THEN ${anHourAgo} ELSE ${inAnHour} END`,
          retry_after: `CASE n % 4 WHEN 0 THEN ${inAnHour} END`,
          attempts: `CASE n % 4 WHEN 0 THEN 3 ELSE 0 END`,
        },
        { numbers },
      );
      return sizeOf(numbers);
    },
  },
  {
    label: 'due first, but another job of the connection runs',
    crowd: async (client, fleet, numbers) => {
      const running = { status: `'running'`, scheduled_at: anHourAgo, started_at: 'now()' };
      await insertJobs(client, fleet, running, { numbers, triggers: true });
      const waiting = { job_type: `'full'`, priority: '5', scheduled_at: anHourAgo };
      await insertJobs(client, fleet, waiting, { numbers, triggers: true });
      return 2 * sizeOf(numbers);
    },
  },
  {
    label: 'due first, of a provider without a connector',
    crowd: async (client, fleet, numbers) => {
      await client.query(`INSERT INTO ${fleet.schema}.providers (slug) VALUES ('unknown')`);
      await client.query(
        `UPDATE ${fleet.schema}.connections SET provider_slug = 'unknown' WHERE ${connectionNumber} BETWEEN $1 AND $2`,
        numbers,
      );
      await insertJobs(client, fleet, { priority: '5', scheduled_at: anHourAgo }, { numbers });
      return sizeOf(numbers);
    },
  },
];

const sizeOf = ([first, last]: [number, number]) => last - first + 1;

interface Crowd {
  label: string;
  fleet: Fleet;
  /** How many of its jobs are not to run. */
  others: number;
  usPerSync: number[];
}

export interface CrowdSizes {
  /** Jobs that run. */
  fresh: number;
  /** Connections whose jobs do not. */
  crowd: number;
}

export async function measureCrowds(
  { client, url, workers }: { client: pg.Client; url: string; workers: Workers },
  sizes: CrowdSizes,
  rounds: number,
): Promise<string> {
  const crowds: Crowd[] = [];
  for (const [i, { label, crowd }] of cases.entries()) {
    progress(`queueing ${whole(sizes.crowd)} jobs that are not to run: ${label}`);
    const fleet = await createFleet(client, url, sizes.fresh + sizes.crowd, `crowd_${i}`);
    await resetFleet(client, fleet, 'idle', new Date());
    const others = await crowd(client, fleet, [sizes.fresh + 1, fleet.size]);
    crowds.push({ label, fleet, others, usPerSync: [] });
  }
  // The first round makes each process and each table warm, and is not counted.
  for (let round = 0; round <= rounds; round++) {
    progress(
      round === 0 ? 'claiming beside them, to warm up' : `claiming beside them, round ${round} of ${rounds}`,
    );
    for (let turn = 0; turn < crowds.length; turn++) {
      const crowd = crowds[(round + turn) % crowds.length] as Crowd;
      const us = await drainFresh(client, workers, crowd, sizes.fresh);
      if (round > 0) crowd.usPerSync.push(us);
    }
  }
  for (const { fleet } of crowds) await fleet.engine.stop();
  return crowdTable(crowds);
}

async function drainFresh(
  client: pg.Client,
  workers: Workers,
  { fleet, others }: Crowd,
  fresh: number,
): Promise<number> {
  const { schema } = fleet;
  await client.query('BEGIN');
  await client.query('SET LOCAL session_replication_role = replica');
  await client.query(`DELETE FROM ${schema}.sync_jobs WHERE status = 'succeeded'`);
  await client.query('COMMIT');
  await client.query(`TRUNCATE ${schema}.signals`);
  await insertJobs(client, fleet, { scheduled_at: dueBefore(new Date()) }, { numbers: [1, fresh] });
  await settle(client, fleet);
  const ms = await timeMs(() => workers.tell('drain', fleet, 1));
  await verifySynced(client, fleet, fresh, others);
  return (ms * 1000) / fresh;
}

function crowdTable(crowds: Crowd[]): string {
  const alone = crowds[0]?.usPerSync ?? [];
  return table(
    ['Also in the queue', 'jobs', 'µs per sync', 'least to most', 'ratio', `goal ≤ ${goal}`],
    crowds.map(({ label, others, usPerSync }, i) => {
      const cells = [label, whole(others), whole(median(usPerSync)), spread(usPerSync, whole)];
      const ratio = median(usPerSync.map((us, round) => us / (alone[round] ?? 0)));
      return i === 0 ? [...cells, '', ''] : [...cells, fixed(2)(ratio), verdict(ratio <= goal)];
    }),
  );
}
