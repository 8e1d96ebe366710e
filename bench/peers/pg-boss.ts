import { PgBoss } from 'pg-boss';

/** Batches, fetched again at once while they come back full, and workers that are told of new jobs. */
export const pgBossSettings = {
  batchSize: 500,
  localConcurrency: 2,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
};

export const pgBossQueue = 'sync';

/** Maintenance and cron are for hours, not for seconds: they are left out, in its favour. */
export async function openPgBoss(url: string): Promise<PgBoss> {
  const boss = new PgBoss({
    connectionString: url,
    max: 20,
    supervise: false,
    schedule: false,
    useListenNotify: true,
  });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  return boss;
}
