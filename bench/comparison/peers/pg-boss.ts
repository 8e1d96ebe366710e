/**
 * pg-boss reads all schedules twice a minute, so a task dispatches due connections instead. The queue is exclusive: at most
 * one job per connection waits or runs.
 */
import type pg from 'pg';
import { PgBoss } from 'pg-boss';
import { openPool } from '../../tools/postgres.ts';
import { reportDone, serveCommands } from '../../tools/serve-commands.ts';
import { createDueConnections, type Due, dispatchAll, emptyJobs, syncMany, syncOne } from '../store.ts';
import type { WorkerApi } from '../workers.ts';

const queue = 'sync';
/** Full batches are followed by another fetch, and workers listen for new jobs. */
const settings = {
  batchSize: 500,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
};

let boss: PgBoss;
let pool: pg.Pool;
let variant: string;

/** Without maintenance and cron, in favour of pg-boss: they matter for hours, not for seconds. */
async function openBoss(url: string): Promise<PgBoss> {
  const opened = new PgBoss({
    connectionString: url,
    max: 20,
    supervise: false,
    schedule: false,
    useListenNotify: true,
  });
  opened.on('error', (error) => console.error(error));
  await opened.start();
  return opened;
}

async function addEmptyJobs(jobs: number): Promise<void> {
  for (const ids of emptyJobs(jobs))
    await boss.insert(
      queue,
      ids.map((id) => ({ data: { id } })),
      { returnId: false },
    );
}

function addDueJobs(client: pg.PoolClient, rows: Due[]): Promise<unknown> {
  const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) };
  const batch = rows.map((due) => ({
    singletonKey: due.id,
    data: variant === 'plain' ? { id: due.id } : due,
  }));
  return boss.insert(queue, batch, { db, returnId: false });
}

serveCommands({
  prepare: async (url, name, jobs) => {
    await createDueConnections(url, jobs);
    const installer = await openBoss(url);
    await installer.createQueue(queue, { notify: true, ...(name !== 'no-op' && { policy: 'exclusive' }) });
    await installer.stop({ graceful: false });
  },
  open: async (url, name) => {
    variant = name;
    boss = await openBoss(url);
    pool = await openPool(url, 20);
  },
  add: (jobs) => (variant === 'no-op' ? addEmptyJobs(jobs) : dispatchAll(pool, addDueJobs)),
  run: async () => {
    if (variant === 'no-op') {
      await boss.work(queue, settings, async (jobs) => reportDone(jobs.length));
    } else if (variant === 'plain') {
      await boss.work<Due>(queue, { ...settings, batchSize: 100 }, async (jobs) => {
        await Promise.all(jobs.map(({ data }) => syncOne(pool, data.id)));
        reportDone(jobs.length);
      });
    } else {
      const options = { ...settings, transactional: true } as const;
      await boss.work<Due, void, typeof options>(queue, options, async (jobs, tx) => {
        const due = jobs.map(({ data }) => data);
        await syncMany((text, values) => tx.executeSql(text, values), due);
        reportDone(jobs.length);
      });
    }
  },
  close: async () => {
    await boss.stop({ graceful: true, close: true, timeout: 5000 });
    await pool.end();
  },
} satisfies WorkerApi);
