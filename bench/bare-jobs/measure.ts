import { synclineEntrant } from '../real-job/syncline-fleet.ts';
import type { Bench } from '../tools/bench.ts';
import {
  type Contest,
  type ContestScale,
  type Entrant,
  holdContest,
  requireCount,
} from '../tools/contest.ts';

/** Jobs that do nothing through each peer, and complete syncs through Syncline: it has no smaller job. */
export function measureBareJobs(bench: Bench, scale: ContestScale): Promise<Contest> {
  return holdContest(bench, 'bare jobs', entrants, scale);
}

const contender = (name: string) => new URL(`contenders/${name}.ts`, import.meta.url);

const entrants: Entrant[] = [
  {
    name: 'graphile-worker',
    script: contender('graphile-worker'),
    variants: [
      {
        name: 'no-op',
        about: 'add_jobs() in SQL; local queue of 500, 24 jobs at once, completions in batches',
      },
    ],
    settled: 'NOT EXISTS (SELECT FROM graphile_worker._private_jobs)',
    verify: (client) => requireCount(client, 'jobs left', 'graphile_worker._private_jobs', 0),
  },
  {
    name: 'pg-boss',
    script: contender('pg-boss'),
    variants: [
      { name: 'no-op', about: 'insert() of 5,000; 2 workers in a process, batches of 500, burst, notify' },
    ],
    settled: `NOT EXISTS (SELECT FROM pgboss.job WHERE state < 'completed')`,
    verify: (client, jobs) =>
      requireCount(client, 'jobs completed', `pgboss.job WHERE state = 'completed'`, jobs),
  },
  {
    name: 'BullMQ on Postgres',
    script: contender('bullmq'),
    variants: [{ name: 'no-op', about: 'addBulk() of 5,000; 50 jobs at once, removed when completed' }],
    settled: 'NOT EXISTS (SELECT FROM bullmq.job)',
    verify: (client) => requireCount(client, 'jobs left', 'bullmq.job', 0),
  },
  synclineEntrant,
];
