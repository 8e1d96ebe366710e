import { type Runner, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { graphileWorkerSettings, startGraphileWorker } from '../../peers/graphile-worker.ts';
import { obey } from '../../tools/obey.ts';
import { openPool } from '../../tools/pool.ts';

let pool: pg.Pool;
let runner: Runner | undefined;

obey({
  prepare: (url) => runMigrations({ connectionString: url }),
  open: async (url) => {
    pool = openPool(url, graphileWorkerSettings.maxPoolSize);
    await pool.query('SELECT 1');
  },
  add: async (jobs) => {
    await pool.query(
      `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(
         SELECT ROW('sync', json_build_object('id', n), NULL, now(), NULL, NULL, NULL, NULL)::graphile_worker.job_spec
         FROM generate_series(1, $1::int) n))`,
      [jobs],
    );
  },
  run: async (report) => {
    runner = await startGraphileWorker(pool, { sync: async () => report(1) });
  },
  close: async () => {
    await runner?.stop();
    await pool.end();
    runner = undefined;
  },
});
