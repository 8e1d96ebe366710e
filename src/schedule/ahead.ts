import { type BackoffPolicy, maxPauseSeconds } from './backoff.ts';
import { type IntervalBounds, minIntervalSeconds } from './interval.ts';
import type { JitterBounds } from './jitter.ts';
import { type RescheduleInput, reschedule } from './reschedule.ts';

export interface ScheduleBounds extends IntervalBounds, JitterBounds {
  tickIntervalSeconds: number;
}

/**
 * How far ahead of now the engine places anything. A time further ahead was written by a process with a wrong clock, or by the
 * rules of a longer interval.
 */
export interface AheadLimits {
  defaultIntervalSeconds: number;
  minIntervalSeconds: number;
  maxIntervalSeconds: number;
  /** Of `next_run_at`, in intervals of the connection. */
  nextRunIntervals: number;
  /** Of `scheduled_at` of a run that a scheduler placed, in intervals of the connection. */
  jobIntervals: number;
  /** Of `retry_after`, and of `scheduled_at` of a job that waits for it. */
  pauseSeconds: number;
  /** Added to each: a scheduler looks one tick ahead. */
  slackSeconds: number;
}

/**
 * SCH-5: a run that ended just now gives `slot = now + base`, so `next_run_at` is up to two intervals ahead; SCH-6 adds jitter to
 * one interval. Jitter is added to both, which costs nothing and covers clocks that differ by a little.
 */
export function aheadLimits(bounds: ScheduleBounds, policies: readonly BackoffPolicy[]): AheadLimits {
  return {
    defaultIntervalSeconds: bounds.defaultIntervalSeconds,
    minIntervalSeconds,
    maxIntervalSeconds: bounds.maxOverriddenIntervalSeconds,
    nextRunIntervals: 2 + bounds.jitterPctMax,
    jobIntervals: 1 + bounds.jitterPctMax,
    pauseSeconds: Math.max(...policies.map(maxPauseSeconds)),
    slackSeconds: bounds.tickIntervalSeconds,
  };
}

export function isNextRunAhead(
  nextRunAtMs: number,
  baseSeconds: number,
  { nextRunIntervals, slackSeconds }: AheadLimits,
  nowMs: number,
): boolean {
  return nextRunAtMs > nowMs + (baseSeconds * nextRunIntervals + slackSeconds) * 1000;
}

export interface QueuedJob {
  type: string;
  scheduledAtMs: number;
  retryAfterMs: number | undefined;
}

/** Which of a queued job's times lie too far ahead. Jobs that no scheduler places may wait as long as the longest pause. */
export function jobAhead(
  job: QueuedJob,
  baseSeconds: number,
  { jobIntervals, pauseSeconds, slackSeconds }: AheadLimits,
  nowMs: number,
): { scheduledAt: boolean; retryAfter: boolean } {
  const slotMs = nowMs + (baseSeconds * jobIntervals + slackSeconds) * 1000;
  const pauseMs = nowMs + (pauseSeconds + slackSeconds) * 1000;
  const isPlaced = job.type === 'incremental' && job.retryAfterMs === undefined;
  return {
    scheduledAt: job.scheduledAtMs > (isPlaced ? slotMs : Math.max(slotMs, pauseMs)),
    retryAfter: job.retryAfterMs !== undefined && job.retryAfterMs > pauseMs,
  };
}

/** Where a connection whose `next_run_at` or placed job lies too far ahead belongs. Undefined stays as it is. */
export function backInReach({
  isNextRunAhead: isAhead,
  ...given
}: RescheduleInput & { isNextRunAhead: boolean }): {
  nextRunAtMs: number | undefined;
  scheduledAtMs: number | undefined;
} {
  const { pending, baseSeconds, jitterSeconds, nowMs } = given;
  // The wrong clock wrote the end of the last run, too.
  const lastEndedMs = given.lastEndedMs === undefined ? undefined : Math.min(given.lastEndedMs, nowMs);
  const moved = reschedule({ ...given, lastEndedMs });
  // SCH-6: without a run that has ended, the first one is due now.
  const bootstrapMs = pending === 'none' ? nowMs : nowMs + (baseSeconds + jitterSeconds) * 1000;
  return {
    nextRunAtMs: isAhead ? (moved.nextRunAtMs ?? bootstrapMs) : undefined,
    scheduledAtMs: pending === 'placed' ? (moved.job?.scheduledAtMs ?? nowMs) : undefined,
  };
}
