import { resolve } from 'node:path';
import type pg from 'pg';
import { createFleet, fillConnections } from '../tools/fleet.ts';
import { requireCount, withClient } from '../tools/postgres.ts';
import type { Subject } from './comparison.ts';
import { verifyStored } from './store.ts';

export const synclineName = 'Syncline';
export const limitName = 'SQL only';
export const earlierName = 'Syncline, earlier';
export const schemaName = 'bench';
const script = (name: string) => new URL(`${name}.ts`, import.meta.url);

const syncline: Subject = {
  name: synclineName,
  script: script('syncline-subject'),
  variants: ['sync'],
  settled: `NOT EXISTS (SELECT FROM ${schemaName}.sync_jobs WHERE status IN ('queued', 'running'))`,
  verify: verifySynced,
};
const graphileWorker: Subject = {
  name: 'graphile-worker',
  script: script('peers/graphile-worker'),
  variants: ['no-op'],
  settled: 'NOT EXISTS (SELECT FROM graphile_worker._private_jobs)',
  verify: (client) => requireCount(client, 'graphile_worker._private_jobs', 0),
};
const pgBoss: Subject = {
  name: 'pg-boss',
  script: script('peers/pg-boss'),
  variants: ['no-op'],
  settled: `NOT EXISTS (SELECT FROM pgboss.job WHERE state < 'completed')`,
  verify: (client, jobs) => requireCount(client, `pgboss.job WHERE state = 'completed'`, jobs),
};
const bullmq: Subject = {
  name: 'BullMQ on Postgres',
  script: script('peers/bullmq'),
  variants: ['no-op'],
  settled: 'NOT EXISTS (SELECT FROM bullmq.job)',
  verify: (client) => requireCount(client, 'bullmq.job', 0),
};

/** Empty jobs on each peer, complete syncs on Syncline: it has no smaller job. */
export const bareJobs = [graphileWorker, pgBoss, bullmq, syncline];

export const plainVariants = ['plain', 'named queues'];
export const realJob = [
  { ...graphileWorker, variants: [...plainVariants, 'batch jobs', 'group commit'], verify: verifyStored },
  { ...pgBoss, variants: ['plain', 'batches'], verify: verifyStored },
  { ...bullmq, variants: ['plain', 'group commit'], verify: verifyStored },
  syncline,
];

export const limitSubjects = [
  { ...syncline, name: limitName, script: script('sql-subject'), variants: ['procedures'] },
  syncline,
];

/** A build of another commit: `folder` is its checkout. */
export const earlierBuild = (folder: string): Subject => ({
  ...syncline,
  name: earlierName,
  env: { SYNCLINE_DIST: resolve(folder, 'dist') },
});

/** Creates hourly connections that all came due within the last ten seconds. */
export function createDueFleet(url: string, size: number): Promise<void> {
  return withClient(url, async (client) => {
    const fleet = await createFleet(client, url, size, schemaName);
    await fillConnections(client, fleet, { from: new Date(Date.now() - 10_000), overSeconds: 9 });
  });
}

/** Throws unless each connection ran once, stored its signal and its cursor, and has its next run in the future. */
async function verifySynced(client: pg.Client, jobs: number): Promise<void> {
  await requireCount(client, `${schemaName}.sync_jobs`, jobs);
  await requireCount(client, `${schemaName}.signals`, jobs);
  const complete = `${schemaName}.sync_jobs j
    JOIN ${schemaName}.connections c ON c.id = j.connection_id
    JOIN ${schemaName}.signals s ON s.job_id = j.id AND s.connection_id = c.id AND s.dedupe_key = j.id::text
    WHERE j.status = 'succeeded' AND j.attempts = 0 AND j.finished_at >= j.started_at AND j.process_id IS NULL
      AND c.metadata #>> '{sync,cursor,page}' = j.id::text AND c.metadata ? 'crm_owner'
      AND c.last_incremental_ended_at = j.finished_at AND c.due_at > now()`;
  await requireCount(client, complete, jobs);
}
