import { isDeepStrictEqual } from 'node:util';
import { jobsCreated, runsSettled } from '../causes.ts';
import type { Commit } from '../database-state.ts';
import { always, engineOnly } from '../invariant.ts';
import type { Job, Signal } from '../rows.ts';

const stored = (commit: Commit): Signal[] =>
  commit.signals.flatMap(({ before, after }) => (before === undefined && after ? [after] : []));

/** Jobs that succeeded in this transaction: runs and webhook deliveries. */
function succeeded(commit: Commit): Job[] {
  const ended = runsSettled(commit).map(({ after }) => after);
  return [...ended, ...jobsCreated(commit)].filter((job) => job.status === 'succeeded');
}

/** EXE-5. */
export const storedByTheirRun = engineOnly(
  'signals are stored in the transaction in which their run succeeds',
  (commit) => {
    const jobs = new Set(succeeded(commit).map((job) => job.id));
    return stored(commit)
      .filter((signal) => signal.job_id !== null && !jobs.has(signal.job_id))
      .map((signal) => ({
        connectionId: signal.connection_id,
        jobId: signal.job_id ?? undefined,
        detail: `the job of signal ${signal.id} does not succeed in this transaction`,
      }));
  },
);

export const counted = engineOnly('signal_count is the number of signals that the job stored', (commit) => {
  const counts = new Map<string, number>();
  for (const { job_id } of stored(commit)) if (job_id) counts.set(job_id, (counts.get(job_id) ?? 0) + 1);
  return succeeded(commit)
    .filter((job) => job.signal_count !== (counts.get(job.id) ?? 0))
    .map((job) => ({
      connectionId: job.connection_id,
      jobId: job.id,
      detail: `signal_count is ${job.signal_count}, stored are ${counts.get(job.id) ?? 0}`,
    }));
});

/** EXE-5. */
export const keysAreUnique = always('a dedupe key is stored once per connection', (commit, state) =>
  stored(commit)
    .filter((signal) => signal.dedupe_key !== null && state.keyCount(signal) > 1)
    .map((signal) => ({
      connectionId: signal.connection_id,
      jobId: signal.job_id ?? undefined,
      detail: `${signal.dedupe_key} is stored ${state.keyCount(signal)} times`,
    })),
);

export const signalsStay = engineOnly('a stored signal never changes', (commit) =>
  commit.signals.flatMap(({ before, after }) =>
    before && after && !isDeepStrictEqual(before, after)
      ? [{ connectionId: after.connection_id, detail: `signal ${after.id} changed` }]
      : [],
  ),
);
