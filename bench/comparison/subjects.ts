import pg from 'pg';
import { createFleet, fillConnections } from '../tools/fleet.ts';
import { requireCount, withClient } from '../tools/postgres.ts';
import type { Subject } from './comparison.ts';
import { verifyStored } from './store.ts';

/** The subjects of the three comparisons. */

const script = (name: string) => new URL(`${name}.ts`, import.meta.url);

export const synclineName = 'Syncline';
export const limitName = 'SQL only';
export const synclineSchema = 'bench_comparison';
const schema = pg.escapeIdentifier(synclineSchema);

const syncline: Subject = {
  name: synclineName,
  script: script('syncline-subject'),
  variants: [
    {
      name: 'sync',
      about:
        'one scheduler tick, then claim, sync and commit with one signal and one cursor; concurrency 2,000, claim batch 1,000, no jitter',
    },
  ],
  settled: `NOT EXISTS (SELECT FROM ${schema}.sync_jobs WHERE status IN ('queued', 'running'))`,
  verify: verifySynced,
};

const limit: Subject = {
  ...syncline,
  name: limitName,
  script: script('sql-subject'),
  variants: [
    {
      name: 'procedures',
      about:
        'procedures with one statement each to schedule, claim and finish a batch of 1,000; two sessions schedule, one per process works; no connector call',
    },
  ],
};

const peers = {
  'graphile-worker': {
    name: 'graphile-worker',
    script: script('peers/graphile-worker'),
    settled: 'NOT EXISTS (SELECT FROM graphile_worker._private_jobs)',
  },
  'pg-boss': {
    name: 'pg-boss',
    script: script('peers/pg-boss'),
    settled: `NOT EXISTS (SELECT FROM pgboss.job WHERE state < 'completed')`,
  },
  bullmq: {
    name: 'BullMQ on Postgres',
    script: script('peers/bullmq'),
    settled: 'NOT EXISTS (SELECT FROM bullmq.job)',
  },
};

/** Empty jobs on each peer, complete syncs on Syncline: it has no smaller job. */
export const bareJobs: Subject[] = [
  {
    ...peers['graphile-worker'],
    variants: [
      { name: 'no-op', about: 'add_jobs() in SQL; local queue of 500, concurrency 24, batched completions' },
    ],
    verify: (client) => requireCount(client, 'jobs left', 'graphile_worker._private_jobs', 0),
  },
  {
    ...peers['pg-boss'],
    variants: [
      { name: 'no-op', about: 'insert() of 5,000; 2 workers per process, batches of 500, burst, notify' },
    ],
    verify: (client, jobs) =>
      requireCount(client, 'jobs completed', `pgboss.job WHERE state = 'completed'`, jobs),
  },
  {
    ...peers.bullmq,
    variants: [{ name: 'no-op', about: 'addBulk() of 5,000; concurrency 50, removed on completion' }],
    verify: (client) => requireCount(client, 'jobs left', 'bullmq.job', 0),
  },
  syncline,
];

const perJob = 'one transaction per job';

/** From due connections to a stored signal, a stored cursor and the next run time of each. */
export const realJob: Subject[] = [
  {
    ...peers['graphile-worker'],
    variants: [
      { name: 'plain', about: `${perJob}; concurrency 24`, slow: true },
      {
        name: 'named queues',
        about: `${perJob}; concurrency 24, one named queue per connection`,
        slow: true,
      },
      {
        name: 'group commit',
        about: 'one job per connection, concurrency 500; concurrent jobs share transactions',
      },
      {
        name: 'batch jobs',
        about: 'one job per 250 connections, which commit, fail and retry together',
        slow: true,
      },
    ],
    verify: verifyStored,
  },
  {
    ...peers['pg-boss'],
    variants: [
      { name: 'plain', about: `${perJob}; exclusive queue, batches of 100 run concurrently`, slow: true },
      { name: 'batches', about: 'exclusive queue, transactional workers: 500 jobs commit together' },
    ],
    verify: verifyStored,
  },
  {
    ...peers.bullmq,
    variants: [
      { name: 'plain', about: `${perJob}; concurrency 50`, slow: true },
      {
        name: 'group commit',
        about: 'one job per connection, concurrency 50; concurrent jobs share transactions',
      },
    ],
    verify: verifyStored,
  },
  syncline,
];

export const limitSubjects: Subject[] = [limit, syncline];

/** Creates hourly connections that all came due within the last ten seconds. */
export function createDueFleet(url: string, size: number): Promise<void> {
  return withClient(url, async (client) => {
    const fleet = await createFleet(client, url, size, 'comparison');
    await fleet.engine.stop();
    const from = new Date(Date.now() - 10_000);
    await fillConnections(client, fleet, { due: size, from, overSeconds: 9, intervalSeconds: 3600 });
  });
}

/** Throws unless each connection ran once, stored its signal and its cursor, and has its next run in the future. */
async function verifySynced(client: pg.Client, jobs: number): Promise<void> {
  const { rows } = await client.query<Record<string, number>>(
    `SELECT
       count(*)::int AS succeeded,
       count(*) FILTER (WHERE j.attempts = 0 AND j.finished_at >= j.started_at AND j.process_id IS NULL)::int AS "first attempts",
       count(DISTINCT s.job_id)::int AS "jobs with a signal",
       count(*) FILTER (WHERE s.connection_id = j.connection_id AND s.dedupe_key = j.id::text)::int AS "own signals",
       (SELECT count(*)::int FROM ${schema}.signals) AS signals,
       count(*) FILTER (WHERE c.metadata #>> '{sync,cursor,page}' = j.id::text AND c.metadata ? 'crm_owner')::int AS cursors,
       count(*) FILTER (WHERE c.last_incremental_ended_at = j.finished_at)::int AS "end times",
       count(*) FILTER (WHERE c.due_at > now())::int AS "next runs in the future",
       (SELECT count(*)::int FROM ${schema}.sync_jobs) AS jobs
     FROM ${schema}.sync_jobs j
     JOIN ${schema}.connections c ON c.id = j.connection_id
     LEFT JOIN ${schema}.signals s ON s.job_id = j.id
     WHERE j.status = 'succeeded'`,
  );
  const wrong = Object.entries(rows[0] ?? {}).filter(([, count]) => count !== jobs);
  if (wrong.length > 0)
    throw new Error(`Of ${jobs} jobs: ${wrong.map(([what, count]) => `${count} ${what}`).join(', ')}`);
}
