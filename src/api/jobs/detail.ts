import type { Caller } from '../../caller/caller.ts';
import type { AttemptRow } from '../../store/attempts.ts';
import { formatDuration } from '../../values/duration.ts';
import { type Job, type JobDetail, runFromRow } from './model.ts';

/** The last run is only in the job row. */
export function detailOf(
  job: Job,
  claimId: string | null,
  recorded: AttemptRow[],
  { caller, nowMs }: { caller: Caller; nowMs: number },
): JobDetail {
  const runs = recorded.map((row) => runFromRow(row, caller));
  // Jobs cancelled in the queue have no claim: match start times.
  const isLastRecorded = recorded.some(
    (row) => row.claim_id === claimId || row.started_at.getTime() === job.startedAt?.getTime(),
  );
  if (job.startedAt && job.status !== 'queued' && !isLastRecorded)
    runs.push({
      number: (runs.at(-1)?.number ?? 0) + 1,
      outcome: job.status,
      startedAt: job.startedAt,
      endedAt: job.finishedAt,
      retryAfter: undefined,
      error: job.status === 'failed' ? job.error : undefined,
      log: [],
    });
  return { ...job, verdict: verdict(job, runs.at(-1)?.number ?? 0, nowMs), runs };
}

function verdict(job: Job, runs: number, nowMs: number): string {
  const { status, startedAt, finishedAt, signals, error, scheduledAt, retryAfter } = job;
  const tries = runs > 1 ? ` on try ${runs}` : '';
  switch (status) {
    case 'succeeded':
      return (
        `Succeeded${tries}${took(startedAt, finishedAt)}: ${signals} new ` +
        `${signals === 1 ? 'signal' : 'signals'}.`
      );
    case 'failed':
      return error ? `Failed${tries}: ${error.message}` : `Failed${tries} without an error message.`;
    case 'cancelled':
      return (
        `Cancelled${finishedAt ? ` ${formatDuration(nowMs - finishedAt.getTime())} ago` : ''}. ` +
        'Nothing from an unfinished run was stored.'
      );
    case 'running':
      return `Running${startedAt ? ` for ${formatDuration(nowMs - startedAt.getTime())}` : ''}${tries}.`;
    case 'queued': {
      const startMs = Math.max(scheduledAt.getTime(), retryAfter?.getTime() ?? 0);
      const when = startMs > nowMs ? `in ${formatDuration(startMs - nowMs)}` : 'as soon as a slot is free';
      if (job.blocked) return 'Blocked: its connection is not active or runs another job.';
      if (error?.parked === true || error?.kind === 'process_died')
        return `Waiting: ${sentence(error.message)} Next attempt ${when}.`;
      return error && job.attempts > 0
        ? `Failed ${job.attempts === 1 ? 'once' : `${job.attempts} times`}; last error: ` +
            `${sentence(error.message)} Next attempt ${when}.`
        : `Queued; runs ${when}.`;
    }
  }
}

const sentence = (text: string) => (/[.!?]$/.test(text) ? text : `${text}.`);

function took(from: Date | undefined, to: Date | undefined): string {
  if (!from || !to) return '';
  const ms = Math.max(0, to.getTime() - from.getTime());
  return ` in ${ms < 2000 ? `${Math.round(ms)} ms` : formatDuration(ms)}`;
}
