import { noCredential } from '../../contract/credential.ts';
import type { ConnectionStatus } from '../../contract/states.ts';
import { type Deletion, errorForTenants } from '../../runtime/index.ts';
import { type Schedule, scheduleText } from '../../schedule/schedule.ts';
import type { EventRow } from '../../store/events.ts';
import type { JobRow } from '../../store/jobs.ts';
import type { ProcessRow } from '../../store/processes.ts';
import { formatDuration } from '../../values/duration.ts';
import type { Explanation } from './results.ts';

export interface Facts {
  nowMs: number;
  status: ConnectionStatus;
  provider: string;
  hasCredential: boolean;
  nextRunAt: Date | undefined;
  lastEndedAt: Date | undefined;
  tickIntervalSeconds: number;
  schedule: Schedule | undefined;
  jobs: JobRow[];
  lastEnded: JobRow | undefined;
  events: EventRow[];
  processes: ProcessRow[];
}

export function explain(facts: Facts): Explanation {
  if (facts.status !== 'active') return inactive(facts);
  const running = facts.jobs.find((job) => job.status === 'running');
  if (running) return underWay(facts, running);
  const queued = facts.jobs
    .filter((job) => job.status === 'queued')
    .sort((a, b) => startMs(a) - startMs(b))
    .at(0);
  return queued ? inLine(facts, queued) : unplaced(facts);
}

export function explainDeletion({ deletedSignals, estimatedSignals, error }: Deletion): Explanation {
  const done =
    `${deletedSignals.toLocaleString('en')} of about ${estimatedSignals.toLocaleString('en')} ` +
    'signals deleted';
  return { state: 'disabled', sentence: `Being deleted: ${done}.${failureOf(error)}`, nextRunAt: undefined };
}

function failureOf(error: string | undefined): string {
  if (error === undefined) return '';
  if (error === errorForTenants) return ` ${error}`;
  return ` The last batch failed and will be retried: ${sentenceEnd(error)}`;
}

function inactive(facts: Facts): Explanation {
  const { status, events, jobs, nowMs } = facts;
  const finishing = jobs.some((job) => job.status === 'running')
    ? ' The current run is still finishing.'
    : '';
  const event = events.find(({ kind }) => kind === `connection.${status}`);
  const since = event ? ` ${ago(event.created_at, nowMs)}` : '';
  const because = event?.reason ? `: ${sentenceEnd(event.reason)}` : '.';
  const nextRunAt = undefined;
  switch (status) {
    case 'needs_auth':
      if (hadNoCredential(facts, event))
        return {
          state: 'needs_auth',
          sentence:
            'Waiting for authorization: no credential has been provided yet. Syncing starts when ' +
            `consent is granted or a credential is attached.${finishing}`,
          nextRunAt,
        };
      return {
        state: 'needs_auth',
        sentence:
          `The provider rejected the credentials${since}${because} Syncing restarts when the ` +
          `credential is replaced or the connection is resumed.${finishing}`,
        nextRunAt,
      };
    case 'paused':
      return {
        state: 'paused',
        sentence:
          `Paused${event ? ` by ${event.actor}` : ''}${since}${because} No new run starts until the ` +
          `connection is resumed.${finishing}`,
        nextRunAt,
      };
    default:
      return {
        state: 'disabled',
        sentence: `Disabled. No new run starts until the connection is active again.${finishing}`,
        nextRunAt,
      };
  }
}

/** No provider rejected one. */
function hadNoCredential({ hasCredential, lastEnded }: Facts, event: EventRow | undefined): boolean {
  if (hasCredential) return false;
  return event ? event.reason === noCredential : lastEnded === undefined;
}

function underWay({ nowMs, processes }: Facts, job: JobRow): Explanation {
  const process = processes.find(({ id }) => id === job.process_id);
  const since = job.started_at ? `, started ${formatDuration(nowMs - job.started_at.getTime())} ago` : '';
  const where =
    job.process_id === null
      ? ', on a worker that Syncline does not manage'
      : process?.alive
        ? process.host === null
          ? ''
          : `, on ${process.host} (process ${process.pid})`
        : '; its process has stopped responding, so the job returns to the queue within seconds';
  const attempt = job.attempts > 0 ? `, after ${times(job.attempts)}` : '';
  return {
    state: 'running',
    sentence: `Running now: ${job.job_type} sync${since}${attempt}${where}.`,
    nextRunAt: job.started_at ?? undefined,
  };
}

function inLine(facts: Facts, job: JobRow): Explanation {
  const { nowMs, provider } = facts;
  const nextRunAt = new Date(startMs(job));
  if (startMs(job) > nowMs) {
    if (job.retry_after && job.retry_after.getTime() > nowMs)
      return {
        state: 'backing_off',
        sentence: `Waiting${whatFor(job)}${reason(job)} Next attempt ${inTime(nextRunAt, nowMs)}.`,
        nextRunAt,
      };
    return {
      state: 'scheduled',
      sentence: `Next ${job.job_type} run ${inTime(nextRunAt, nowMs)}.${bySchedule(facts)} ${lastRun(facts)}`,
      nextRunAt,
    };
  }
  const due =
    `The ${job.job_type} run has been due for ${formatDuration(nowMs - startMs(job))} (since ` +
    `${nextRunAt.toISOString()})`;
  const alive = facts.processes.filter((process) => process.alive);
  if (alive.length === 0)
    return {
      state: 'unserved',
      sentence: `${due}, but no executor is running. Start one: \`syncline start\`.`,
      nextRunAt,
    };
  if (!alive.some(({ providers }) => providers.includes(provider)))
    return {
      state: 'unserved',
      sentence: `${due}, but no running executor has a connector for "${provider}".`,
      nextRunAt,
    };
  return {
    state: 'waiting',
    sentence:
      `${due} and waits for a free slot in ` +
      `${alive.length === 1 ? 'the one running executor' : `one of ${alive.length} running executors`}.`,
    nextRunAt,
  };
}

function unplaced(facts: Facts): Explanation {
  const { nextRunAt, nowMs, tickIntervalSeconds } = facts;
  const last = lastRun(facts);
  if (nextRunAt && nextRunAt.getTime() > nowMs + tickIntervalSeconds * 1000)
    return {
      state: 'scheduled',
      sentence: `Next run ${inTime(nextRunAt, nowMs)}.${bySchedule(facts)} ${last}`,
      nextRunAt,
    };
  return {
    state: 'unplaced',
    sentence: `Due now. ${last} The next scheduler tick (within ${tickIntervalSeconds} s) will queue it.`,
    nextRunAt,
  };
}

const bySchedule = ({ schedule }: Facts) => (schedule ? ` By schedule: ${scheduleText(schedule)}.` : '');

function lastRun({ lastEnded, lastEndedAt, nowMs }: Facts): string {
  const at = lastEnded?.finished_at ?? lastEndedAt;
  if (!at) return 'No runs yet.';
  const verdict =
    lastEnded?.status === 'failed'
      ? `failed${shortError(lastEnded)}`
      : lastEnded?.status === 'cancelled'
        ? 'was cancelled'
        : (lastEnded?.status ?? 'ended');
  return `Last run ${verdict} ${formatDuration(nowMs - at.getTime())} ago.`;
}

const startMs = (job: JobRow) => Math.max(job.scheduled_at.getTime(), job.retry_after?.getTime() ?? 0);
const times = (failures: number) => (failures === 1 ? 'one failure' : `${failures} failures`);
/** Follow-up pages and full syncs may wait without a failure. */
function whatFor(job: JobRow): string {
  if (isParked(job) || hasDied(job)) return '';
  return job.attempts > 0 ? ` after ${times(job.attempts)}` : ' before continuing';
}
const isParked = (job: JobRow) => (job.error as { parked?: unknown } | null)?.parked === true;
const hasDied = (job: JobRow) => (job.error as { kind?: unknown } | null)?.kind === 'process_died';
/** Other writers may have stored any JSON. */
function messageOf(job: JobRow): string | undefined {
  const message = (job.error as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : undefined;
}
const reason = (job: JobRow) => (messageOf(job) ? `: ${sentenceEnd(messageOf(job) as string)}` : '.');
const shortError = (job: JobRow) => (messageOf(job) ? ` (${messageOf(job)?.slice(0, 200)})` : '');
const sentenceEnd = (text: string) => (/[.!?]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`);
const ago = (at: Date, nowMs: number) => `${formatDuration(nowMs - at.getTime())} ago (${at.toISOString()})`;
const inTime = (at: Date, nowMs: number) =>
  `in ${formatDuration(at.getTime() - nowMs)} (${at.toISOString()})`;
