import type { AttemptRow, LogLine } from '../../store/attempts.ts';
import { formatDuration } from '../../values/duration.ts';
import type { Job, JobFailure } from './index.ts';

/** One run of a job. */
export interface Attempt {
  number: number;
  outcome: 'succeeded' | 'failed' | 'retried' | 'lost' | 'cancelled' | 'running';
  startedAt: Date;
  endedAt: Date | undefined;
  retryAfter: Date | undefined;
  error: JobFailure | undefined;
  /** What the connector logged, the first hundred lines of it. */
  log: LogLine[];
}

/** A job, a sentence on how it went, and its runs: all that are kept, or the newest whose errors and logs are about 8 MB. */
export interface JobDetail extends Job {
  verdict: string;
  runs: Attempt[];
}

/** The runs that are on record, and the last one, of which the job's own row tells. */
export function detailOf(job: Job, claimId: string | null, recorded: AttemptRow[], nowMs: number): JobDetail {
  const runs = recorded.map(toAttempt);
  // A job that was cancelled while it waited has no claim any more; its last run is told by when it began.
  const isLastRecorded = recorded.some(
    (row) => row.claim_id === claimId || row.started_at.getTime() === job.startedAt?.getTime(),
  );
  if (job.startedAt && job.status !== 'queued' && !isLastRecorded)
    runs.push({
      number: (runs.at(-1)?.number ?? 0) + 1,
      outcome: job.status === 'completed' ? 'succeeded' : job.status,
      startedAt: job.startedAt,
      endedAt: job.finishedAt,
      retryAfter: undefined,
      error: job.status === 'failed' ? job.error : undefined,
      log: [],
    });
  return { ...job, verdict: verdict(job, runs.at(-1)?.number ?? 0, nowMs), runs };
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    number: row.number,
    outcome: row.outcome,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    retryAfter: row.retry_after ?? undefined,
    error: (row.error as JobFailure | null | undefined) ?? undefined,
    log: row.log ?? [],
  };
}

function verdict(job: Job, runs: number, nowMs: number): string {
  const { status, startedAt, finishedAt, signals, error, scheduledAt, retryAfter } = job;
  const tries = runs > 1 ? ` on try ${runs}` : '';
  switch (status) {
    case 'succeeded':
    case 'completed':
      return `It succeeded${tries}${took(startedAt, finishedAt)} and stored ${signals === 1 ? 'one new signal' : `${signals} new signals`}.`;
    case 'failed':
      return `It failed${tries}: ${error?.message ?? 'nobody said why.'}`;
    case 'cancelled':
      return `It was cancelled${finishedAt ? ` ${formatDuration(nowMs - finishedAt.getTime())} ago` : ''}; nothing of an unfinished run was stored.`;
    case 'running':
      return `It is running${startedAt ? `, since ${formatDuration(nowMs - startedAt.getTime())}` : ''}${tries}.`;
    case 'queued': {
      const startMs = Math.max(scheduledAt.getTime(), retryAfter?.getTime() ?? 0);
      const when = startMs > nowMs ? `in ${formatDuration(startMs - nowMs)}` : 'as soon as a slot is free';
      if (job.blocked) return 'It waits until its connection is active and runs nothing else.';
      if (error?.parked === true || error?.kind === 'process_died')
        return `It waits: ${sentence(error.message)} It is tried again ${when}.`;
      return error && job.attempts > 0
        ? `It failed ${job.attempts === 1 ? 'once' : `${job.attempts} times`}, at last with: ${sentence(error.message)} It is tried again ${when}.`
        : `It is to run ${when}.`;
    }
  }
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

function took(from: Date | undefined, to: Date | undefined): string {
  if (!from || !to) return '';
  const ms = Math.max(0, to.getTime() - from.getTime());
  return ` after ${ms < 2000 ? `${Math.round(ms)} ms` : formatDuration(ms)}`;
}
