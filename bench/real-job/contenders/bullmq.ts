/** BullMQ: a task looks for due connections and adds their jobs. The id of a job is that of its connection, so there is one. */
import type pg from 'pg';
import { openQueue, openWorker } from '../../peers/bullmq.ts';
import { obey } from '../../tools/obey.ts';
import { openPool } from '../../tools/pool.ts';
import { groupCommit, syncPlainly } from '../store.ts';
import type { Due } from '../sync.ts';
import { createDueConnections } from '../tables.ts';

const dispatchedAtOnce = 1000;

let url: string;
let pool: pg.Pool;
let variant: string;
let queue: ReturnType<typeof openQueue<Due>>;
let worker: ReturnType<typeof openWorker<Due>> | undefined;

/** Jobs first: a crash before the commit has them added again, which their ids make harmless. */
async function dispatch(client: pg.PoolClient): Promise<number> {
  await client.query('BEGIN');
  const { rows } = await client.query<Due>(
    `WITH due AS MATERIALIZED (
       SELECT id FROM connections WHERE next_run_at <= now() AND NOT queued
       ORDER BY next_run_at LIMIT ${dispatchedAtOnce} FOR NO KEY UPDATE SKIP LOCKED
     )
     UPDATE connections c SET next_run_at = now() + interval_seconds * interval '1 s'
     FROM due WHERE c.id = due.id
     RETURNING c.id, c.tenant_id AS "tenantId", c.external_id AS "externalId", c.cursor`,
  );
  await queue.addBulk(rows.map((due) => ({ name: 'sync', data: due, opts: { jobId: due.id } })));
  await client.query('COMMIT');
  return rows.length;
}

obey({
  prepare: async (address, size) => {
    await createDueConnections(address, size);
    const installer = openQueue(address);
    await installer.waitUntilReady();
    await installer.close();
  },
  open: async (address, way) => {
    [url, variant] = [address, way];
    pool = openPool(url, 20);
    await pool.query('SELECT 1');
    queue = openQueue(url);
    await queue.waitUntilReady();
  },
  add: async () => {
    const client = await pool.connect();
    while ((await dispatch(client)) === dispatchedAtOnce);
    client.release();
  },
  run: async (report) => {
    const inGroup = groupCommit((text, values) => pool.query(text, values), 2);
    const work = variant === 'plain' ? (due: Due) => syncPlainly(pool, due.id) : inGroup;
    worker = openWorker<Due>(url, async (due) => {
      await work(due);
      report(1);
    });
    await worker.waitUntilReady();
    void worker.run();
  },
  close: async () => {
    await worker?.close();
    await queue.close();
    await pool.end();
    worker = undefined;
  },
});
