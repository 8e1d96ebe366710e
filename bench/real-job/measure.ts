import type { Bench } from '../tools/bench.ts';
import { type Contest, type ContestScale, type Entrant, holdContest } from '../tools/contest.ts';
import { synclineEntrant } from './syncline-fleet.ts';
import { verifyStored } from './tables.ts';

/** From "so many connections are due" until each has its signal and cursor stored, and its next run placed. */
export function measureRealJob(bench: Bench, scale: ContestScale): Promise<Contest> {
  return holdContest(bench, 'real job', entrants, scale);
}

const contender = (name: string) => new URL(`contenders/${name}.ts`, import.meta.url);

const plain = 'a transaction per job: what most would write';

const entrants: Entrant[] = [
  {
    name: 'graphile-worker',
    script: contender('graphile-worker'),
    variants: [
      { name: 'plain', about: `${plain}; 24 jobs at once`, slow: true },
      {
        name: 'named queues',
        about: `${plain}; 24 jobs at once, a named queue for each connection`,
        slow: true,
      },
      { name: 'group commit', about: 'a job per connection, 500 at once, which share transactions' },
      {
        name: 'batch jobs',
        about: 'a job carries 250 connections, which are stored, fail and are retried together',
        slow: true,
      },
    ],
    settled: 'NOT EXISTS (SELECT FROM graphile_worker._private_jobs)',
    verify: verifyStored,
  },
  {
    name: 'pg-boss',
    script: contender('pg-boss'),
    variants: [
      { name: 'plain', about: `${plain}; exclusive queue, batches of 100 of them at once`, slow: true },
      {
        name: 'batches',
        about: 'exclusive queue, transactional workers: 500 jobs are stored and completed together',
      },
    ],
    settled: `NOT EXISTS (SELECT FROM pgboss.job WHERE state < 'completed')`,
    verify: verifyStored,
  },
  {
    name: 'BullMQ on Postgres',
    script: contender('bullmq'),
    variants: [
      { name: 'plain', about: `${plain}; 50 jobs at once`, slow: true },
      { name: 'group commit', about: 'a job per connection, 50 at once, which share transactions' },
    ],
    settled: 'NOT EXISTS (SELECT FROM bullmq.job)',
    verify: verifyStored,
  },
  synclineEntrant,
];
