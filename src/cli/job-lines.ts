import type { Job, JobDetail } from '../index.ts';
import { cut, outputWidth, table } from './output.ts';
import { fullTime, relativeTime } from './time-text.ts';

/** --json prints them in full. */
const maxValueLength = 500;

export function jobLines(job: Job): string[] {
  return table([
    ['id', job.id],
    ['connection', job.connectionId],
    ['tenant', job.tenantId],
    ['provider', job.provider],
    ['type', job.type],
    ['status', statusOf(job)],
    ['priority', String(job.priority)],
    ['failures', String(job.attempts)],
    ['scheduled', fullTime(job.scheduledAt)],
    ['retry after', fullTime(job.retryAfter)],
    ['started', fullTime(job.startedAt)],
    ['ended', fullTime(job.finishedAt)],
    ['new signals', String(job.signals)],
    ['cursor', cut(JSON.stringify(job.cursor) ?? '-', maxValueLength)],
    ['error', errorOf(job)],
    ['created', fullTime(job.createdAt)],
  ]);
}

export function runLines({ runs }: JobDetail): string[] {
  return runs.flatMap(({ number, outcome, startedAt, endedAt, error, log }) => {
    const took = endedAt ? ` after ${Math.max(0, endedAt.getTime() - startedAt.getTime())} ms` : '';
    return [
      '',
      `Run ${number}: ${outcome}${took}, started ${fullTime(startedAt)}`,
      ...(error ? [`  ${error.kind}: ${error.message}`] : []),
      ...log.map((line) => `  ${line.at} ${line.level} ${line.message}`),
    ];
  });
}

const endOfHead = ['type', 'status', 'failures', 'when', 'error'];
export const jobHead = ['id', 'connection', 'provider', ...endOfHead];

export const jobCells = (job: Job) => [job.id, job.connectionId, job.provider, ...endOfCells(job)];

function endOfCells(job: Job): string[] {
  return [job.type, statusOf(job), String(job.attempts), when(job), errorOf(job)];
}

export function jobTableOfConnection(jobs: Job[]): string[] {
  const rows = jobs.map((job) => [job.id, ...endOfCells(job)]);
  return table([['id', ...endOfHead], ...rows], { width: outputWidth() });
}

function statusOf({ status, blocked }: Job): string {
  return blocked && status === 'queued' ? 'queued, blocked' : status;
}

function when({ status, scheduledAt, retryAfter, startedAt, finishedAt }: Job): string {
  if (status === 'running') return relativeTime(startedAt);
  if (status !== 'queued') return relativeTime(finishedAt);
  return relativeTime(retryAfter && retryAfter > scheduledAt ? retryAfter : scheduledAt);
}

/** Other writers may store any JSON. */
function errorOf({ error }: Job): string {
  if (error === undefined) return '-';
  const { kind, message } = error;
  return typeof message === 'string' ? `${kind}: ${message}` : JSON.stringify(error);
}
