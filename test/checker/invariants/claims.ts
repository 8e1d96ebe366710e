import { isDeepStrictEqual } from 'node:util';
import { hasEvent, runsBegun, runsDied, runsLeft, runsPutBack, runsSettled } from '../causes.ts';
import { always, ofTheEngine } from '../invariant.ts';
import { isRunning, type Job, msOf } from '../rows.ts';

const of = (job: Job) => ({ jobId: job.id, connectionId: job.connection_id });

/** EXE-1, by the clock of whoever claimed it. */
export const startsWhenDue = ofTheEngine('a job starts only when it is due', (commit) =>
  runsBegun(commit)
    .filter(({ before, after: job }) => {
      const dueMs = Math.max(msOf(job.scheduled_at), msOf(before?.retry_after) || 0);
      return dueMs > msOf(job.started_at);
    })
    .map(({ before, after: job }) => ({
      ...of(job),
      detail: `started ${job.started_at}, scheduled ${job.scheduled_at}, not to be tried before ${before?.retry_after}`,
    })),
);

export const startsWhenActive = ofTheEngine(
  'a job starts only while its connection is active',
  (commit, world) =>
    runsBegun(commit)
      .filter(({ after: job }) => world.connections.get(job.connection_id)?.status !== 'active')
      .map(({ after: job }) => ({
        ...of(job),
        detail: `its connection is ${world.connections.get(job.connection_id)?.status}`,
      })),
);

/** EXE-9: whoever has no lease can be given no job, since nobody would put it back. */
export const startsUnderALease = ofTheEngine(
  'a job starts only under a process that has a lease',
  (commit, world) =>
    runsBegun(commit)
      .filter(({ after: job }) => job.process_id && !world.processes.has(job.process_id))
      .map(({ after: job }) => ({ ...of(job), detail: `there is no process ${job.process_id}` })),
);

/** A claim that was used before could let a run write that has lost it long ago. */
export const claimsAreFresh = ofTheEngine('a claim is made once', (commit, world) =>
  runsBegun(commit)
    .filter(({ after: job }) => job.claim_id && world.claims.get(job.claim_id) !== commit.position)
    .map(({ after: job }) => ({
      ...of(job),
      detail: `claim ${job.claim_id} was there at position ${world.claims.get(job.claim_id ?? '')}`,
    })),
);

export const claimStays = ofTheEngine('a running job keeps its claim and its process', (commit) =>
  commit.jobs.flatMap(({ before, after }) => {
    if (!isRunning(before) || !isRunning(after) || !before.claim_id || !after.claim_id || !after.process_id)
      return [];
    const isSame = before.claim_id === after.claim_id && before.process_id === after.process_id;
    return isSame ? [] : [{ ...of(after), detail: `from claim ${before.claim_id} to ${after.claim_id}` }];
  }),
);

/** EXE-5: the claim is still in the row when the run's result is. */
export const endsUnderItsClaim = ofTheEngine('a run ends under the claim that it was given', (commit) =>
  runsLeft(commit)
    .filter(({ before, after }) => {
      const isTaken = after.status === 'cancelled' || after.status === 'queued';
      return after.claim_id !== before.claim_id && !(isTaken && after.claim_id === null);
    })
    .map(({ before, after }) => ({
      ...of(after),
      detail: `${after.status} under claim ${after.claim_id}, though ${before.claim_id} holds it`,
    })),
);

/**
 * EXE-5. A session belongs to one process of the operating system: to the one for which it claimed. Several engines in one process are
 * told apart while the lease under which the session last claimed is being renewed: then its engine has no other. Behind a pooler
 * sessions belong to nobody, and this says nothing.
 */
export const settledByItsProcess = ofTheEngine(
  'a run is settled by the process that holds its claim',
  (commit, world) => {
    const writer = world.processOf(commit.session);
    if (writer === undefined) return [];
    return runsSettled(commit).flatMap(({ before, after }) => {
      const holder = before.process_id;
      if (holder === null || holder === writer) return [];
      const [here, there] = [world.placeOf(writer), world.placeOf(holder)];
      const isElsewhere = here !== undefined && there !== undefined && here !== there;
      const leftMs = world.leaseLeftMs(writer, commit, msOf(after.updated_at)) ?? 0;
      const isCurrent = leftMs > (world.leaseMs.get(writer) ?? Number.POSITIVE_INFINITY) / 4;
      if (!isElsewhere && !isCurrent) return [];
      return [
        { ...of(after), detail: `process ${holder} runs it, and it became ${after.status} by ${writer}` },
      ];
    });
  },
);

/** EXE-9. Where leases are judged by another clock than the database's, nothing can be said. */
export const takenWhenExpired = ofTheEngine(
  'a job is taken from another process only when its lease is over',
  (commit, world) => {
    const writer = world.processOf(commit.session);
    if (writer === undefined || !world.processes.has(writer)) return [];
    return [...runsPutBack(commit), ...runsDied(commit)].flatMap(({ before, after }) => {
      const owner = before.process_id ?? '';
      const isAsked = hasEvent(commit, after.connection_id, 'connection.rewound');
      if (owner === writer || isAsked || !world.onDatabaseClock.has(owner)) return [];
      const leftMs = world.leaseLeftMs(owner, commit, Number.NaN) ?? 0;
      return leftMs > 0 ? [{ ...of(after), detail: `the lease of ${owner} lasts for ${leftMs} ms` }] : [];
    });
  },
);

/** EXE-9: no attempt charged, and nothing else either. A rewind alone takes the cursor away; deaths in a row have it wait. */
export const putBackAsItWas = ofTheEngine(
  'a job that is put back is as it was before it was claimed',
  (commit) =>
    runsPutBack(commit).flatMap(({ before, after }) => {
      const isRewound = hasEvent(commit, after.connection_id, 'connection.rewound') && after.cursor === null;
      const kept = [
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
      const changed = kept.filter(
        (column) => !isExpected(column) && !isDeepStrictEqual(before[column], after[column]),
      );
      return changed.length === 0 ? [] : [{ ...of(after), detail: `changed: ${changed.join(', ')}` }];
    }),
);

/** Whoever waits for nothing must not be kept from running. */
export const blockedByABlocker = always('no job is blocked without a reason', (commit, world) => {
  const touched = [...commit.jobs, ...commit.connections].flatMap(
    ({ before, after }) => before ?? after ?? [],
  );
  const ids = new Set(touched.map((row) => ('connection_id' in row ? row.connection_id : row.id)));
  return [...ids].flatMap((id) => {
    const jobs = world.pendingOf(id);
    const isFree = world.connections.get(id)?.status === 'active' && !jobs.some(isRunning);
    return jobs
      .filter((job) => isFree && job.blocked)
      .map((job) => ({ ...of(job), detail: 'its connection is active and runs nothing' }));
  });
});
