/**
 * pg-boss has schedules, but reads all of them twice a minute: a task looks for due connections and inserts their jobs.
 * The queue is exclusive: of each connection at most one job waits or runs.
 */
import type pg from 'pg';
import type { PgBoss } from 'pg-boss';
import { openPgBoss, pgBossQueue, pgBossSettings } from '../../peers/pg-boss.ts';
import { obey } from '../../tools/obey.ts';
import { openPool } from '../../tools/pool.ts';
import { syncMany, syncPlainly } from '../store.ts';
import type { Due } from '../sync.ts';
import { createDueConnections } from '../tables.ts';

const dispatchedAtOnce = 1000;

let boss: PgBoss;
let pool: pg.Pool;
let variant: string;

/** In one transaction: a connection has its next run placed if and only if its job is there. */
async function dispatch(client: pg.PoolClient): Promise<number> {
  await client.query('BEGIN');
  const { rows } = await client.query<Due>(
    `WITH due AS MATERIALIZED (
       SELECT id FROM connections WHERE next_run_at <= now() AND NOT queued
       ORDER BY next_run_at LIMIT ${dispatchedAtOnce} FOR UPDATE SKIP LOCKED
     )
     UPDATE connections c SET next_run_at = now() + interval_seconds * interval '1 s'
     FROM due WHERE c.id = due.id
     RETURNING c.id, c.tenant_id AS "tenantId", c.external_id AS "externalId", c.cursor`,
  );
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
  const batch = rows.map((due) => ({
    singletonKey: due.id,
    data: variant === 'plain' ? { id: due.id } : due,
  }));
  if (batch.length > 0) await boss.insert(pgBossQueue, batch, { db, returnId: false });
  await client.query('COMMIT');
  return rows.length;
}

obey({
  prepare: async (url, size) => {
    await createDueConnections(url, size);
    const installer = await openPgBoss(url);
    await installer.createQueue(pgBossQueue, { policy: 'exclusive', notify: true });
    await installer.stop({ graceful: false });
  },
  open: async (url, way) => {
    variant = way;
    boss = await openPgBoss(url);
    pool = openPool(url, 20);
    await pool.query('SELECT 1');
  },
  add: async () => {
    const client = await pool.connect();
    while ((await dispatch(client)) === dispatchedAtOnce);
    client.release();
  },
  run: async (report) => {
    if (variant === 'plain') {
      await boss.work<Due>(pgBossQueue, { ...pgBossSettings, batchSize: 100 }, async (jobs) => {
        await Promise.all(jobs.map(({ data }) => syncPlainly(pool, data.id)));
        report(jobs.length);
      });
    } else {
      const options = { ...pgBossSettings, transactional: true } as const;
      await boss.work<Due, void, typeof options>(pgBossQueue, options, async (jobs, tx) => {
        const due = jobs.map(({ data }) => data);
        await syncMany((text, values) => tx.executeSql(text, values), due);
        report(jobs.length);
      });
    }
  },
  close: async () => {
    await boss.stop({ graceful: true, close: true, timeout: 5000 });
    await pool.end();
  },
});
