import { createPostgresBackend, Queue, Worker } from 'bullmq';
import { obeyParent } from '../../tools/child.ts';
import { nowMs } from '../../tools/clock.ts';
import type { PeerAnswer, PeerOrder } from '../peers.ts';
import { untilThere } from './minute.ts';

const upsertsAtOnce = 20;
const mostMs = 60_000;
const seconds = 5;
const everyHour = 3600_000;
const dayMs = 24 * 3600_000;

obeyParent(async ({ url, schedules, due }: PeerOrder): Promise<PeerAnswer> => {
  const connection = { connectionString: url, migrate: true, max: upsertsAtOnce };
  const queue = new Queue('sync', { connection }, createPostgresBackend);
  await queue.waitUntilReady();

  let next = 0;
  const started = nowMs();
  const upsert = async () => {
    while (next < schedules - due && nowMs() - started < mostMs) {
      const n = next++;
      await queue.upsertJobScheduler(
        `connection-${n}`,
        { every: everyHour, startDate: Date.now() + dayMs },
        { name: 'sync', data: { account: `account-${n}` } },
      );
    }
  };
  await Promise.all(Array.from({ length: upsertsAtOnce }, upsert));
  const scheduleMs = (nowMs() - started) / next;

  const lagsMs: number[] = [];
  const worker = new Worker(
    'sync',
    // A scheduler's job is named after itself and the moment for which it is scheduled.
    async (job) => void lagsMs.push(nowMs() - Number(job.id?.split(':').at(-1))),
    { connection, concurrency: 100 },
    createPostgresBackend,
  );
  for (let n = 0; n < due; n++)
    await queue.upsertJobScheduler(`due-${n}`, { pattern: '* * * * * *' }, { name: 'sync', data: {} });
  await untilThere(() => lagsMs.length, due * (seconds + 1), mostMs);
  await worker.close(true);
  await queue.close();
  return { schedules: next + due, scheduleMs, passMs: [], lagsMs: lagsMs.slice(due) };
});
