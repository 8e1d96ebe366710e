import { integer } from '../setting.ts';

export const executor = {
  concurrency: integer({
    env: 'SYNCLINE_EXECUTOR_CONCURRENCY',
    default: 50,
    min: 1,
    max: 5000,
    unit: 'jobs',
    about:
      'Jobs that a process runs in parallel. Too low: due jobs wait. Too high: more memory (a page of ' +
      'signals per job) and more parallel requests to providers.',
  }),
  claimBatch: integer({
    env: 'SYNCLINE_EXECUTOR_CLAIM_BATCH',
    default: 200,
    min: 1,
    max: 1000,
    unit: 'jobs',
    about:
      'Maximum jobs claimed, and results stored, per transaction. Too low: more commits. Too high: ' +
      'one process claims jobs that others could have started.',
  }),
  pollIntervalMs: integer({
    env: 'SYNCLINE_EXECUTOR_POLL_INTERVAL_MS',
    default: 5000,
    min: 50,
    max: 60_000,
    unit: 'milliseconds',
    about:
      'Interval at which an idle process polls for jobs that arrived without a notification. Too low: ' +
      'needless queries. Too high: jobs inserted with plain SQL start late.',
  }),
  leaseSeconds: integer({
    env: 'SYNCLINE_EXECUTOR_LEASE_SECONDS',
    default: 30,
    min: 2,
    max: 3600,
    unit: 'seconds',
    about:
      'Lease of a process on its jobs, renewed by heartbeats. Too low: a short pause of the process or ' +
      'network ends its runs. Too high: jobs of a dead process wait longer.',
  }),
  maxRunSeconds: integer({
    env: 'SYNCLINE_EXECUTOR_MAX_RUN_SECONDS',
    default: 300,
    min: 1,
    max: 86_400,
    unit: 'seconds',
    about:
      'Timeout of a run. Too low: slow providers never finish a page. Too high: a hanging connector ' +
      'keeps its slot.',
  }),
  shutdownGraceSeconds: integer({
    env: 'SYNCLINE_EXECUTOR_SHUTDOWN_GRACE_SECONDS',
    default: 20,
    min: 0,
    max: 3600,
    unit: 'seconds',
    about:
      'Time that runs get to finish after a shutdown request. Too low: work is repeated. Too high: the ' +
      'platform kills the process first (Kubernetes after 30 s).',
  }),
};
