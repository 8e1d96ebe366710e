import { isDeepStrictEqual } from 'node:util';
import {
  hasEvent,
  runsFailedByDeaths,
  runsReleased,
  runsRequeued,
  runsSettled,
  runsStarted,
} from '../causes.ts';
import { always, engineOnly } from '../invariant.ts';
import { isRunning, type Job, msOf } from '../rows.ts';

const subject = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });

/** EXE-1, by the start time of the claim. */
export const startsWhenDue = engineOnly('a job starts only when it is due', (commit) =>
  runsStarted(commit)
    .filter(({ before, after: job }) => {
      const dueMs = Math.max(msOf(job.scheduled_at), msOf(before?.retry_after) || 0);
      return dueMs > msOf(job.started_at);
    })
    .map(({ before, after: job }) => ({
      ...subject(job),
      detail: `started ${job.started_at}, scheduled ${job.scheduled_at}, retry_after ${before?.retry_after}`,
    })),
);

export const startsWhenActive = engineOnly(
  'a job starts only while its connection is active',
  (commit, state) =>
    runsStarted(commit)
      .filter(({ after: job }) => state.connections.get(job.connection_id)?.status !== 'active')
      .map(({ after: job }) => ({
        ...subject(job),
        detail: `its connection is ${state.connections.get(job.connection_id)?.status}`,
      })),
);

/** EXE-9: without a lease, no reaper would requeue the job. */
export const startsUnderALease = engineOnly(
  'a job starts only under a process that has a lease',
  (commit, state) =>
    runsStarted(commit)
      .filter(({ after: job }) => job.process_id && !state.processes.has(job.process_id))
      .map(({ after: job }) => ({ ...subject(job), detail: `there is no process ${job.process_id}` })),
);

/** A reused claim id would let an old run pass the fence. */
export const claimsAreFresh = engineOnly('a claim id is used once', (commit, state) =>
  runsStarted(commit)
    .filter(({ after: job }) => job.claim_id && state.claims.get(job.claim_id) !== commit.position)
    .map(({ after: job }) => ({
      ...subject(job),
      detail: `claim ${job.claim_id} existed at position ${state.claims.get(job.claim_id ?? '')}`,
    })),
);

export const claimStays = engineOnly('a running job keeps its claim and its process', (commit) =>
  commit.jobs.flatMap(({ before, after }) => {
    if (!isRunning(before) || !isRunning(after) || !before.claim_id || !after.claim_id || !after.process_id)
      return [];
    const isSame = before.claim_id === after.claim_id && before.process_id === after.process_id;
    return isSame
      ? []
      : [{ ...subject(after), detail: `from claim ${before.claim_id} to ${after.claim_id}` }];
  }),
);

/** EXE-5: the row keeps the claim id when the result is stored. */
export const endsUnderItsClaim = engineOnly('a run ends under its own claim', (commit) =>
  runsReleased(commit)
    .filter(({ before, after }) => {
      const isTakenAway = after.status === 'cancelled' || after.status === 'queued';
      return after.claim_id !== before.claim_id && !(isTakenAway && after.claim_id === null);
    })
    .map(({ before, after }) => ({
      ...subject(after),
      detail: `${after.status} under claim ${after.claim_id}, but ${before.claim_id} holds it`,
    })),
);

/**
 * EXE-5. A session belongs to the process for which it claimed. Engines of one process can be distinguished
 * only while the lease of the last claim is current. Does not apply behind a pooler.
 */
export const settledByItsProcess = engineOnly(
  'the process that holds the claim stores the result of the run',
  (commit, state) => {
    const writer = state.processOf(commit.session);
    if (writer === undefined) return [];
    return runsSettled(commit).flatMap(({ before, after }) => {
      const holder = before.process_id;
      if (holder === null || holder === writer) return [];
      const [here, there] = [state.hostOf(writer), state.hostOf(holder)];
      const isElsewhere = here !== undefined && there !== undefined && here !== there;
      const leftMs = state.leaseLeftMs(writer, commit, msOf(after.updated_at)) ?? 0;
      const isCurrent = leftMs > (state.leaseMs.get(writer) ?? Number.POSITIVE_INFINITY) / 4;
      if (!isElsewhere && !isCurrent) return [];
      return [
        {
          ...subject(after),
          detail: `process ${holder} runs it, but ${after.status} was written by ${writer}`,
        },
      ];
    });
  },
);

/** EXE-9. Applies only to leases on the database's clock. */
export const takenWhenExpired = engineOnly(
  'a job is taken from another process only after its lease expired',
  (commit, state) => {
    const writer = state.processOf(commit.session);
    if (writer === undefined || !state.processes.has(writer)) return [];
    return [...runsRequeued(commit), ...runsFailedByDeaths(commit)].flatMap(({ before, after }) => {
      const owner = before.process_id ?? '';
      const isRewound = hasEvent(commit, after.connection_id, 'connection.rewound');
      if (owner === writer || isRewound || !state.onDatabaseClock.has(owner)) return [];
      const leftMs = state.leaseLeftMs(owner, commit, Number.NaN) ?? 0;
      return leftMs > 0
        ? [{ ...subject(after), detail: `the lease of ${owner} is valid for another ${leftMs} ms` }]
        : [];
    });
  },
);

/** EXE-9. A rewind clears the cursor; consecutive deaths set a backoff. */
export const putBackAsItWas = engineOnly('a requeued job is as it was before its claim', (commit) =>
  runsRequeued(commit).flatMap(({ before, after }) => {
    const isRewound = hasEvent(commit, after.connection_id, 'connection.rewound') && after.cursor === null;
    const unchanged = [
      'attempts',
      'error',
      'scheduled_at',
      'retry_after',
      'cursor',
      'signal_count',
      'next_cursor',
    ] as const;
    const waits = after.error?.kind === 'process_died' && after.retry_after !== null;
    const isExpected = (column: string) =>
      (column === 'cursor' && isRewound) || (waits && ['error', 'retry_after'].includes(column));
    const changed = unchanged.filter(
      (column) => !isExpected(column) && !isDeepStrictEqual(before[column], after[column]),
    );
    return changed.length === 0 ? [] : [{ ...subject(after), detail: `changed: ${changed.join(', ')}` }];
  }),
);

/** A blocked job without a blocker would never run. */
export const blockedByABlocker = always('no job is blocked without a reason', (commit, state) => {
  const touched = [...commit.jobs, ...commit.connections].flatMap(
    ({ before, after }) => before ?? after ?? [],
  );
  const ids = new Set(touched.map((row) => ('connection_id' in row ? row.connection_id : row.id)));
  return [...ids].flatMap((id) => {
    const jobs = state.pendingOf(id);
    const isFree = state.connections.get(id)?.status === 'active' && !jobs.some(isRunning);
    return jobs
      .filter((job) => isFree && job.blocked)
      .map((job) => ({ ...subject(job), detail: 'its connection is active and has no running job' }));
  });
});
