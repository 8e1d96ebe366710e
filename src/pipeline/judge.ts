import { isDeepStrictEqual } from 'node:util';
import { type ConnectorErrorKind, connectorErrorKind, type RateLimitedError } from '../contract/errors.ts';
import { hintSeconds, unreadableHint } from '../contract/retry-after.ts';
import { type BackoffPolicy, backoffSeconds, pageSeconds, parkedSeconds } from '../schedule/backoff.ts';
import type { JobRequest } from '../store/settlements.ts';
import { formatInstant } from '../values/instant.ts';
import { maxErrorLength } from '../values/limits.ts';
import type { ClaimedJob } from './claim.ts';
import type { CheckedSignal, Page } from './result.ts';
import { effectiveCursor, type RunEnd } from './run.ts';

export interface Verdict {
  outcome: 'succeeded' | 'requeued' | 'failed';
  signals: CheckedSignal[];
  /** JSON text; null keeps it. */
  cursor: string | null;
  followUp?: Pick<JobRequest, 'cursor' | Pause> & { type: 'incremental' | 'full' };
  error?: JobError;
  retryAfter: Date | null;
  needsAuth: boolean;
  /** For the connector's author. */
  warning?: string;
}

type Pause = 'retryAfter' | 'scheduledAt' | 'keepsPause';

/** `sync_jobs.error`. */
interface JobError {
  kind: ConnectorErrorKind;
  name: string;
  message: string;
  at: string;
  /** Waits for a budget: no failure. */
  parked?: true;
}

interface Circumstances {
  policy: BackoffPolicy;
  nowMs: number;
  random: number;
  redact: (text: string) => string;
}

/** EXE-5 to EXE-8. */
export function judge(job: ClaimedJob, end: RunEnd, circumstances: Circumstances): Verdict {
  return 'page' in end ? judgePage(job, end.page, circumstances) : judgeError(job, end.error, circumstances);
}

const nothing = { signals: [], cursor: null, retryAfter: null, needsAuth: false };

function judgePage(job: ClaimedJob, page: Page, circumstances: Circumstances): Verdict {
  const { signals, nextCursor, hasMore, retryAfterSeconds } = page;
  const warning = unreadableHint(retryAfterSeconds, circumstances.redact);
  const verdict: Verdict = {
    ...nothing,
    outcome: 'succeeded',
    signals,
    cursor: nextCursor ?? null,
    ...(warning && { warning }),
  };
  if (!hasMore) return verdict;
  const problem = endlessWalk(job, page);
  if (problem) return { ...verdict, warning: problem };
  return {
    ...verdict,
    followUp: { type: 'incremental', cursor: nextCursor ?? null, ...pauseAfter(page, circumstances) },
  };
}

/** EXE-7: the provider's pause, or a longer existing one. */
function pauseAfter(
  { retryAfterSeconds }: Page,
  { policy, nowMs, random }: Circumstances,
): Pick<JobRequest, Pause> {
  const pauseMs = pageSeconds(policy, hintSeconds(retryAfterSeconds, nowMs), random) * 1000;
  if (pauseMs === 0) return { retryAfter: null };
  const until = new Date(nowMs + pauseMs);
  return { retryAfter: until, scheduledAt: until, keepsPause: true };
}

/** EXE-6: a walk that would never end. */
function endlessWalk(job: ClaimedJob, { signals, nextCursor }: Page): string | undefined {
  if (nextCursor === undefined) return 'hasMore without nextCursor: the walk ends here';
  const isUnchanged = isDeepStrictEqual(JSON.parse(nextCursor), effectiveCursor(job));
  if (isUnchanged && signals.length === 0)
    return 'hasMore with the same cursor as before and no signals: the walk ends here';
  return undefined;
}

function judgeError(job: ClaimedJob, thrown: unknown, circumstances: Circumstances): Verdict {
  const { policy, nowMs, random, redact } = circumstances;
  const error = describe(thrown, nowMs, redact);
  const { hint, isParked, warning } =
    error.kind === 'rate_limited' ? hintOf(thrown as RateLimitedError, circumstances) : noHint;
  const failed: Verdict = { ...nothing, outcome: 'failed', error, ...(warning && { warning }) };
  if (isParked) {
    const until = new Date(nowMs + parkedSeconds(hint) * 1000);
    return { ...failed, outcome: 'requeued', error: { ...error, parked: true }, retryAfter: until };
  }
  const retryAfter = new Date(nowMs + backoffSeconds(policy, job.attempts, hint, random) * 1000);

  switch (error.kind) {
    case 'unauthorized':
      return { ...failed, needsAuth: true };
    case 'permanent':
      return failed;
    case 'cursor_expired':
      // Already without a cursor: another full sync would loop.
      if (effectiveCursor(job) === undefined) return { ...failed, outcome: 'requeued', retryAfter };
      return {
        ...failed,
        followUp: {
          type: 'full',
          cursor: null,
          // Mid-walk: the next full sync may expire again.
          retryAfter: job.cursor === undefined ? null : retryAfter,
          keepsPause: true,
        },
      };
    default:
      return { ...failed, outcome: 'requeued', retryAfter };
  }
}

interface Hint {
  hint: number | undefined;
  isParked: boolean;
  warning?: string | undefined;
}

const noHint: Hint = { hint: undefined, isParked: false };

function hintOf(thrown: RateLimitedError, { nowMs, redact }: Circumstances): Hint {
  try {
    const value = thrown.retryAfterSeconds;
    return {
      hint: hintSeconds(value, nowMs),
      isParked: thrown.parked === true,
      warning: unreadableHint(value, redact),
    };
  } catch {
    return noHint;
  }
}

function describe(thrown: unknown, nowMs: number, redact: Circumstances['redact']): JobError {
  const at = formatInstant(nowMs);
  try {
    return { kind: connectorErrorKind(thrown), ...named(thrown, redact), at };
  } catch {
    return {
      kind: 'transient',
      name: 'Error',
      message: 'The connector threw a value that cannot be read.',
      at,
    };
  }
}

function named(thrown: unknown, redact: Circumstances['redact']): Pick<JobError, 'name' | 'message'> {
  // First: a truncated secret would not be recognised.
  const storable = (text: unknown, length: number) =>
    truncate(redact(String(text).slice(0, 10 * maxErrorLength)), length);
  if (thrown instanceof Error) {
    const { name, message } = thrown;
    return { name: storable(name, 100), message: storable(message || name, maxErrorLength) };
  }
  const shown = typeof thrown === 'object' ? JSON.stringify(thrown) : String(thrown);
  return { name: 'Error', message: storable(`The connector threw ${shown}.`, maxErrorLength) };
}

/** UTF-8 replaces a lone surrogate from slice(). */
const truncate = (text: string, length: number) =>
  Buffer.from(text.slice(0, length)).toString().replaceAll('\0', '\uFFFD');
