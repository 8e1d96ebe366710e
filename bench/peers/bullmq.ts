import { createPostgresBackend, withBackend } from 'bullmq';

const { Queue, Worker } = withBackend(createPostgresBackend);

const bullQueue = 'sync';

/** It claims and completes one job at a time, each in a transaction: only concurrency helps. */
const bullSettings = { concurrency: 50, poolSize: 20 };

const connectionTo = (url: string) => ({
  connectionString: url,
  max: bullSettings.poolSize,
  schema: 'bullmq',
  migrate: true,
});

export function openQueue<Data>(url: string) {
  const queue = new Queue<Data>(bullQueue, {
    connection: connectionTo(url),
    defaultJobOptions: { removeOnComplete: true },
  });
  queue.on('error', (error) => console.error(error));
  return queue;
}

export function openWorker<Data>(url: string, work: (data: Data) => Promise<void>, concurrency?: number) {
  const worker = new Worker<Data>(bullQueue, async ({ data }) => work(data), {
    connection: connectionTo(url),
    concurrency: concurrency ?? bullSettings.concurrency,
    autorun: false,
    removeOnComplete: { count: 0 },
  });
  worker.on('error', (error) => console.error(error));
  return worker;
}
