/** BullMQ on Postgres: a task dispatches due connections. The job id is the connection id, so adding it again has no effect. */
import { createPostgresBackend, withBackend } from 'bullmq';
import type pg from 'pg';
import { openPool } from '../../tools/postgres.ts';
import { reportDone, serveCommands } from '../../tools/serve-commands.ts';
import { createDueConnections, type Due, dispatchAll, emptyJobs, groupCommit, syncOne } from '../store.ts';
import type { WorkerApi } from '../workers.ts';

const { Queue, Worker } = withBackend(createPostgresBackend);
const name = 'sync';
const poolSize = 20;
/** BullMQ claims and completes one job per transaction, so only concurrency raises its rate. */
const concurrency = 50;

const connectionTo = (url: string) => ({
  connectionString: url,
  max: poolSize,
  schema: 'bullmq',
  migrate: true,
});

async function openQueue(url: string) {
  const opened = new Queue<Due>(name, {
    connection: connectionTo(url),
    defaultJobOptions: { removeOnComplete: true },
  });
  opened.on('error', (error) => console.error(error));
  await opened.waitUntilReady();
  return opened;
}

function openWorker(work: (due: Due) => Promise<void>) {
  const opened = new Worker<Due>(name, async ({ data }) => work(data), {
    connection: connectionTo(url),
    concurrency,
    autorun: false,
    removeOnComplete: { count: 0 },
  });
  opened.on('error', (error) => console.error(error));
  return opened;
}

let url: string;
let variant: string;
let pool: pg.Pool;
let queue: Awaited<ReturnType<typeof openQueue>>;
let worker: ReturnType<typeof openWorker> | undefined;

async function addEmptyJobs(jobs: number): Promise<void> {
  for (const ids of emptyJobs(jobs)) await queue.addBulk(ids.map((id) => ({ name, data: { id } as Due })));
}

serveCommands({
  prepare: async (address, _variant, jobs) => {
    await createDueConnections(address, jobs);
    await (await openQueue(address)).close();
  },
  open: async (address, chosen) => {
    [url, variant] = [address, chosen];
    pool = await openPool(url, poolSize);
    queue = await openQueue(url);
  },
  add: (jobs) =>
    variant === 'no-op'
      ? addEmptyJobs(jobs)
      : dispatchAll(pool, (_client, rows) =>
          queue.addBulk(rows.map((due) => ({ name, data: due, opts: { jobId: due.id } }))),
        ),
  run: async () => {
    const inGroup = groupCommit((text, values) => pool.query(text, values));
    worker = openWorker(async (due) => {
      if (variant === 'plain') await syncOne(pool, due.id);
      else if (variant === 'group commit') await inGroup(due);
      reportDone(1);
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
} satisfies WorkerApi);
