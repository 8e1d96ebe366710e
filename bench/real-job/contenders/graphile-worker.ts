/**
 * graphile-worker has no schedule per user: its cron is for a task that looks for due connections and adds their jobs.
 * A job's key keeps it from being queued twice, though not from running beside one that runs already; its named queues
 * would, but every fetch locks all of them. So a connection that is queued says so, until its cursor is stored.
 */
import { type Job, type Runner, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { graphileWorkerSettings, startGraphileWorker } from '../../peers/graphile-worker.ts';
import { obey } from '../../tools/obey.ts';
import { openPool } from '../../tools/pool.ts';
import { groupCommit, syncMany, syncPlainly } from '../store.ts';
import type { Due } from '../sync.ts';
import { createDueConnections } from '../tables.ts';

const dispatchedAtOnce = 1000;
/** How many connections a job of `batch jobs` carries. */
const connectionsPerJob = 250;

let pool: pg.Pool;
let runner: Runner | undefined;
let variant: string;

const spec = (payload: string, key: string, queue: string) =>
  `ROW('sync', ${payload}, ${queue}, now(), NULL, ${key}, NULL, NULL)::graphile_worker.job_spec`;
const payload = `json_build_object('id', id, 'tenantId', tenant_id, 'externalId', external_id, 'cursor', cursor)`;
const jobs: Record<string, string> = {
  plain: `SELECT ${spec(`json_build_object('id', id)`, 'id::text', 'NULL')} FROM placed`,
  'named queues': `SELECT ${spec(`json_build_object('id', id)`, 'id::text', 'id::text')} FROM placed`,
  'group commit': `SELECT ${spec(payload, 'id::text', 'NULL')} FROM placed`,
  'batch jobs': `SELECT ${spec(`json_agg(${payload})`, 'NULL', 'NULL')}
    FROM (SELECT *, row_number() OVER () AS n FROM placed) p GROUP BY (n - 1) / ${connectionsPerJob}`,
};

/** A cron task's work: one statement, so a connection is marked if and only if its job is there. */
const dispatch = (way: string) => `
  WITH due AS MATERIALIZED (
    SELECT id FROM connections WHERE next_run_at <= now() AND NOT queued
    ORDER BY next_run_at LIMIT ${dispatchedAtOnce} FOR UPDATE SKIP LOCKED
  ), placed AS (
    UPDATE connections c SET queued = true, next_run_at = now() + interval_seconds * interval '1 s'
    FROM due WHERE c.id = due.id RETURNING c.*
  )
  SELECT (SELECT count(*)::int FROM placed) AS placed, count(*)
  FROM graphile_worker.add_jobs(ARRAY(${jobs[way]}))`;

obey({
  prepare: async (url, size) => {
    await createDueConnections(url, size);
    await runMigrations({ connectionString: url });
  },
  open: async (url, way) => {
    variant = way;
    pool = openPool(url, graphileWorkerSettings.maxPoolSize);
    await pool.query('SELECT 1');
  },
  add: async () => {
    for (;;) {
      const { rows } = await pool.query<{ placed: number }>(dispatch(variant));
      if ((rows[0]?.placed ?? 0) < dispatchedAtOnce) return;
    }
  },
  run: async (report) => {
    const query = (text: string, values: unknown[]) => pool.query(text, values);
    const inGroup = groupCommit(query, 2);
    const tasks: Record<string, (payload: unknown, job: Job) => Promise<void>> = {
      plain: async (due) => {
        await syncPlainly(pool, (due as Due).id);
        report(1);
      },
      'group commit': async (due) => {
        await inGroup(due as Due);
        report(1);
      },
      'batch jobs': async (due) => {
        await syncMany(query, due as Due[]);
        report((due as Due[]).length);
      },
    };
    const task = tasks[variant] ?? tasks['plain'];
    runner = await startGraphileWorker(
      pool,
      { sync: (due, { job }) => task?.(due, job) },
      variant === 'group commit' ? 500 : variant === 'batch jobs' ? 2 : undefined,
    );
  },
  close: async () => {
    await runner?.stop();
    await pool.end();
    runner = undefined;
  },
});
