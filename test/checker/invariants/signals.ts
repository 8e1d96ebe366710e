import { isDeepStrictEqual } from 'node:util';
import { jobsMade, runsSettled } from '../causes.ts';
import { always, ofTheEngine } from '../invariant.ts';
import type { Job, Signal } from '../rows.ts';
import type { Commit } from '../world.ts';

const stored = (commit: Commit): Signal[] =>
  commit.signals.flatMap(({ before, after }) => (before === undefined && after ? [after] : []));

/** The jobs that this transaction made succeed: runs that ended, and deliveries that came by themselves. */
function succeeded(commit: Commit): Job[] {
  const ended = runsSettled(commit).map(({ after }) => after);
  return [...ended, ...jobsMade(commit)].filter((job) => job.status === 'succeeded');
}

/** EXE-5: neither before its end is written, nor after, nor by anybody else. */
export const storedByTheirRun = ofTheEngine(
  'signals are stored by the transaction in which their run succeeds',
  (commit) => {
    const jobs = new Set(succeeded(commit).map((job) => job.id));
    return stored(commit)
      .filter((signal) => signal.job_id !== null && !jobs.has(signal.job_id))
      .map((signal) => ({
        connectionId: signal.connection_id,
        jobId: signal.job_id ?? undefined,
        detail: `signal ${signal.id} is of a job that does not succeed here`,
      }));
  },
);

export const counted = ofTheEngine('a job counts the signals that it stored', (commit) => {
  const counts = new Map<string, number>();
  for (const { job_id } of stored(commit)) if (job_id) counts.set(job_id, (counts.get(job_id) ?? 0) + 1);
  return succeeded(commit)
    .filter((job) => job.signal_count !== (counts.get(job.id) ?? 0))
    .map((job) => ({
      connectionId: job.connection_id,
      jobId: job.id,
      detail: `it counts ${job.signal_count}, and stored ${counts.get(job.id) ?? 0}`,
    }));
});

/** EXE-5. */
export const keysAreUnique = always('a dedupe key is stored once per connection', (commit, world) =>
  stored(commit)
    .filter((signal) => signal.dedupe_key !== null && world.keyCount(signal) > 1)
    .map((signal) => ({
      connectionId: signal.connection_id,
      jobId: signal.job_id ?? undefined,
      detail: `${signal.dedupe_key} is stored ${world.keyCount(signal)} times`,
    })),
);

export const signalsStay = ofTheEngine('a stored signal never changes', (commit) =>
  commit.signals.flatMap(({ before, after }) =>
    before && after && !isDeepStrictEqual(before, after)
      ? [{ connectionId: after.connection_id, detail: `signal ${after.id} became another` }]
      : [],
  ),
);
