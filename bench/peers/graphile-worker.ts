import { Logger, type Runner, run, type TaskList } from 'graphile-worker';
import type pg from 'pg';

/** Its fastest documented settings: a local queue that is filled in batches, and completions sent in batches. */
export const graphileWorkerSettings = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

/** It would log every job. */
const silent = new Logger(() => () => {});

export function startGraphileWorker(
  pool: pg.Pool,
  taskList: TaskList,
  concurrentJobs?: number,
): Promise<Runner> {
  return run({
    pgPool: pool,
    taskList,
    noHandleSignals: true,
    logger: silent,
    preset: {
      worker: {
        ...graphileWorkerSettings,
        ...(concurrentJobs && { concurrentJobs, localQueue: { size: Math.max(500, concurrentJobs + 1) } }),
      },
    },
  });
}
