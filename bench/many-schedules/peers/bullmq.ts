import { createPostgresBackend, Queue, Worker } from 'bullmq';
import { serveCommands } from '../../tools/serve-commands.ts';
import { nowMs } from '../../tools/text.ts';
import { type PeerLoad, type PeerTimes, untilCount } from '../peers.ts';

const parallelUpserts = 20;
const timeoutMs = 60_000;
const seconds = 5;
const hourMs = 3600_000;

async function measure({ url, schedules, due }: PeerLoad): Promise<PeerTimes> {
  const connection = { connectionString: url, migrate: true, max: parallelUpserts };
  const queue = new Queue('sync', { connection }, createPostgresBackend);
  await queue.waitUntilReady();
  let next = 0;
  const started = nowMs();
  const upsert = async () => {
    while (next < schedules - due && nowMs() - started < timeoutMs) {
      const n = next++;
      await queue.upsertJobScheduler(
        `connection-${n}`,
        { every: hourMs, startDate: Date.now() + 24 * hourMs },
        { name: 'sync', data: { account: `account-${n}` } },
      );
    }
  };
  await Promise.all(Array.from({ length: parallelUpserts }, upsert));
  const scheduleMs = (nowMs() - started) / next;
  const lagsMs: number[] = [];
  const worker = new Worker(
    'sync',
    // The job id ends with the scheduled time.
    async (job) => void lagsMs.push(nowMs() - Number(job.id?.split(':').at(-1))),
    { connection, concurrency: 100 },
    createPostgresBackend,
  );
  for (let n = 0; n < due; n++)
    await queue.upsertJobScheduler(`due-${n}`, { pattern: '* * * * * *' }, { name: 'sync', data: {} });
  await untilCount(() => lagsMs.length, due * (seconds + 1), timeoutMs);
  await worker.close(true);
  await queue.close();
  return { schedules: next + due, scheduleMs, passMs: [], lagsMs: lagsMs.slice(due) };
}

serveCommands({ measure });
