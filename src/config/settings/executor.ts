import { integer } from '../setting.ts';

export const executor = {
  concurrency: integer({
    env: 'SYNCLINE_EXECUTOR_CONCURRENCY',
    default: 50,
    min: 1,
    max: 5000,
    unit: 'jobs',
    about:
      'Jobs that a process runs at once. Too low: due jobs wait. Too high: memory holds as many pages of signals, and providers see as many requests at once.',
  }),
  claimBatch: integer({
    env: 'SYNCLINE_EXECUTOR_CLAIM_BATCH',
    default: 200,
    min: 1,
    max: 1000,
    unit: 'jobs',
    about:
      'The most jobs taken, and the most stored, in one transaction. Too low: a commit each. Too high: one process takes what others could have begun.',
  }),
  pollIntervalMs: integer({
    env: 'SYNCLINE_EXECUTOR_POLL_INTERVAL_MS',
    default: 5000,
    min: 50,
    max: 60_000,
    unit: 'milliseconds',
    about:
      'How often an idle process looks for due jobs that nothing told it of. Too low: idle queries. Too high: jobs that others insert in SQL start late.',
  }),
  leaseSeconds: integer({
    env: 'SYNCLINE_EXECUTOR_LEASE_SECONDS',
    default: 30,
    min: 2,
    max: 3600,
    unit: 'seconds',
    about:
      'How long a silent process keeps its jobs. Too low: a short pause of a process or of the network ends its runs. Too high: jobs of a dead process wait.',
  }),
  maxRunSeconds: integer({
    env: 'SYNCLINE_EXECUTOR_MAX_RUN_SECONDS',
    default: 300,
    min: 1,
    max: 86_400,
    unit: 'seconds',
    about:
      'How long one run may take. Too low: slow providers never finish a page. Too high: a connector that hangs keeps its slot.',
  }),
  shutdownGraceSeconds: integer({
    env: 'SYNCLINE_EXECUTOR_SHUTDOWN_GRACE_SECONDS',
    default: 20,
    min: 0,
    max: 3600,
    unit: 'seconds',
    about:
      'How long runs may finish after the process was told to end. Too low: work is done again. Too high: the platform kills the process first (Kubernetes after 30 s).',
  }),
};
