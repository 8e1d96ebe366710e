import type { JobStatus } from '../../contract/states.ts';
import { timeOf, words } from '../format.ts';
import type { Job, JobDetail, Run, Schedule } from '../types.ts';

export interface Mark {
  key: string;
  shape: 'run' | 'wait' | 'backoff' | 'expected';
  status?: JobStatus;
  what: string;
  from: number;
  to: number;
}

export interface Range {
  from: number;
  to: number;
}

/** If no time span is selected. */
const defaultRuns = 14;
const minSpanMs = 120_000;

export function rangeOf(
  jobs: Job[],
  schedule: Schedule | undefined,
  backMs: number | undefined,
  nowMs: number,
): Range {
  const oldest = timeOf(jobs[Math.min(jobs.length, defaultRuns) - 1]?.scheduled_at) ?? nowMs - minSpanMs;
  const from = backMs === undefined ? Math.min(oldest, nowMs - minSpanMs) : nowMs - backMs;
  const ends = (schedule?.runs ?? []).map(({ latest }) => timeOf(latest) ?? 0);
  const retry = Math.max(0, ...jobs.filter(isWaiting).map(({ retry_after }) => timeOf(retry_after) ?? 0));
  // At most a third of the width.
  const furthest = Math.max(nowMs + (nowMs - from) / 20, retry, ...ends);
  const to = Math.min(furthest, nowMs + (nowMs - from) / 2);
  const margin = (to - from) * 0.02;
  return { from: from - margin, to: to + margin };
}

function isWaiting({ status }: Job): boolean {
  return status === 'queued';
}

export function marksOf(
  jobs: Job[],
  details: JobDetail[],
  schedule: Schedule | undefined,
  nowMs: number,
): Mark[] {
  const detailed = new Map(details.map((job) => [job.id, job.runs]));
  const expected = (schedule?.runs ?? []).flatMap(({ earliest, latest }, index): Mark[] => {
    const from = timeOf(earliest);
    const to = timeOf(latest);
    if (from === undefined || to === undefined) return [];
    return [{ key: `expected-${index}`, shape: 'expected', what: 'Expected run', from, to }];
  });
  // Runs on top.
  return [...expected, ...jobs.flatMap((job) => marksOfJob(job, detailed.get(job.id) ?? [], nowMs))].sort(
    (a, b) => layer(a) - layer(b),
  );
}

function layer({ shape }: Mark): number {
  return ['expected', 'wait', 'backoff', 'run'].indexOf(shape);
}

function marksOfJob(job: Job, runs: Run[], nowMs: number): Mark[] {
  const marks: Mark[] = [];
  const scheduled = timeOf(job.scheduled_at);
  const started = timeOf(job.started_at);
  const earlier = runs.filter(({ outcome }) => outcome !== 'succeeded' && outcome !== 'running');
  for (const run of earlier) marks.push(...marksOfRun(job, run));
  const firstStart = timeOf(runs[0]?.started_at) ?? (job.attempts === 0 ? started : undefined);
  const waitEnd = firstStart ?? (job.status === 'queued' && job.attempts === 0 ? nowMs : undefined);
  if (scheduled !== undefined && waitEnd !== undefined && waitEnd > scheduled)
    marks.push({
      key: `${job.id}-wait`,
      shape: 'wait',
      what: 'Waited to start',
      from: scheduled,
      to: waitEnd,
    });
  const retry = timeOf(job.retry_after);
  if (job.status === 'queued' && retry !== undefined && retry > nowMs && earlier.length === 0)
    marks.push(backoff(`${job.id}-backoff`, timeOf(job.error?.at) ?? nowMs, retry));
  if (started !== undefined && job.status !== 'queued')
    marks.push({
      key: job.id,
      shape: 'run',
      status: job.status,
      what: `${words(job.type)} run, ${job.status}`,
      from: started,
      to: timeOf(job.finished_at) ?? nowMs,
    });
  return marks;
}

function marksOfRun(job: Job, { number, outcome, started_at, ended_at, retry_after }: Run): Mark[] {
  const from = timeOf(started_at);
  const to = timeOf(ended_at);
  if (from === undefined || to === undefined) return [];
  const key = `${job.id}-${number}`;
  const status = outcome === 'cancelled' ? 'cancelled' : 'failed';
  const marks: Mark[] = [{ key, shape: 'run', status, what: `Run ${number}, ${outcome}`, from, to }];
  const retry = timeOf(retry_after);
  if (retry !== undefined && retry > to) marks.push(backoff(`${key}-backoff`, to, retry));
  return marks;
}

function backoff(key: string, from: number, to: number): Mark {
  return { key, shape: 'backoff', what: 'Backing off', from, to };
}

const tickSteps = [10, 30, 60, 300, 600, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800];

export function ticksOf({ from, to }: Range, width: number): number[] {
  const minStepMs = (to - from) / Math.max(2, width / 90);
  const stepMs = (tickSteps.find((seconds) => seconds * 1000 >= minStepMs) ?? 2_592_000) * 1000;
  const zone = new Date(from).getTimezoneOffset() * 60_000;
  const ticks: number[] = [];
  const first = Math.ceil((from - zone) / stepMs) * stepMs + zone;
  const edge = ((to - from) / width) * 24;
  for (let tick = first; tick < to; tick += stepMs)
    if (tick > from + edge && tick < to - edge) ticks.push(tick);
  return ticks;
}
