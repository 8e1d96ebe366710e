/**
 * graphile-worker has no schedule per connection, so a cron task dispatches due connections. A job key prevents queueing a job
 * twice but not running it twice, so the connection stays marked as queued until its cursor is stored.
 */
import { Logger, type Runner, run, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { openPool } from '../../tools/postgres.ts';
import { reportDone, serveCommands } from '../../tools/serve-commands.ts';
import { createDueConnections, type Due, dispatchBatch, groupCommit, syncMany, syncOne } from '../store.ts';
import type { WorkerApi } from '../workers.ts';

const connectionsPerJob = 250;
const concurrency: Record<string, number> = { 'group commit': 500, 'batch jobs': 2 };
/** The fastest documented settings: batched fetches and batched completions. */
const fastest = { maxPoolSize: 25, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const silent = new Logger(() => () => {});

let pool: pg.Pool;
let runner: Runner | undefined;
let variant: string;

const spec = (payload: string, key: string, queue = 'NULL') =>
  `ROW('sync', ${payload}, ${queue}, now(), NULL, ${key}, NULL, NULL)::graphile_worker.job_spec`;
const id = `json_build_object('id', id)`;
const due = `json_build_object('id', id, 'tenantId', tenant_id, 'externalId', external_id, 'cursor', cursor)`;
const specs: Record<string, string> = {
  plain: `SELECT ${spec(id, 'id::text')} FROM dispatched`,
  'named queues': `SELECT ${spec(id, 'id::text', 'id::text')} FROM dispatched`,
  'group commit': `SELECT ${spec(due, 'id::text')} FROM dispatched`,
  'batch jobs': `SELECT ${spec(`json_agg(${due})`, 'NULL')}
    FROM (SELECT *, row_number() OVER () AS n FROM dispatched) d GROUP BY (n - 1) / ${connectionsPerJob}`,
};

const dispatch = () => `
  WITH due AS MATERIALIZED (
    SELECT id FROM connections WHERE next_run_at <= now() AND NOT queued
    ORDER BY next_run_at LIMIT ${dispatchBatch} FOR UPDATE SKIP LOCKED
  ), dispatched AS (
    UPDATE connections c SET queued = true, next_run_at = now() + interval_seconds * interval '1 s'
    FROM due WHERE c.id = due.id RETURNING c.*
  )
  SELECT (SELECT count(*)::int FROM dispatched) AS dispatched, count(*)
  FROM graphile_worker.add_jobs(ARRAY(${specs[variant]}))`;

const addEmptyJobs = `
  SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
    SELECT ${spec(`json_build_object('id', n)`, 'NULL')} FROM generate_series(1, $1::int) n))`;

serveCommands({
  prepare: async (url, _variant, jobs) => {
    await createDueConnections(url, jobs);
    await runMigrations({ connectionString: url });
  },
  open: async (url, name) => {
    variant = name;
    pool = await openPool(url, 25);
  },
  add: async (jobs) => {
    if (variant === 'no-op') return void (await pool.query(addEmptyJobs, [jobs]));
    for (let count = dispatchBatch; count === dispatchBatch; ) {
      const { rows } = await pool.query<{ dispatched: number }>(dispatch());
      count = rows[0]?.dispatched ?? 0;
    }
  },
  run: async () => {
    const query = (text: string, values: unknown[]) => pool.query(text, values);
    const inGroup = groupCommit(query);
    const sync = async (payload: unknown) => {
      if (variant === 'batch jobs') await syncMany(query, payload as Due[]);
      else if (variant === 'group commit') await inGroup(payload as Due);
      else if (variant !== 'no-op') await syncOne(pool, (payload as Due).id);
      reportDone(Array.isArray(payload) ? payload.length : 1);
    };
    const concurrentJobs = concurrency[variant] ?? 24;
    runner = await run({
      pgPool: pool,
      taskList: { sync },
      noHandleSignals: true,
      logger: silent,
      preset: {
        worker: { ...fastest, concurrentJobs, localQueue: { size: Math.max(500, concurrentJobs + 1) } },
      },
    });
  },
  close: async () => {
    await runner?.stop();
    await pool.end();
    runner = undefined;
  },
} satisfies WorkerApi);
