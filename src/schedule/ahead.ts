import { type BackoffPolicy, maxPauseSeconds } from './backoff.ts';
import { type IntervalBounds, minIntervalSeconds } from './interval.ts';
import type { JitterBounds } from './jitter.ts';
import { type RescheduleInput, reschedule } from './reschedule.ts';

export interface ScheduleBounds extends IntervalBounds, JitterBounds {
  tickIntervalSeconds: number;
}

/** Later times come from a wrong clock or longer interval. */
export interface AheadLimits {
  defaultIntervalSeconds: number;
  minIntervalSeconds: number;
  maxIntervalSeconds: number;
  nextRunIntervals: number;
  /** For `scheduled_at` of scheduled runs. */
  jobIntervals: number;
  /** `retry_after`, and `scheduled_at` of its job. */
  pauseSeconds: number;
  /** The scheduler looks one tick ahead. */
  slackSeconds: number;
}

/** SCH-5: after a run, `next_run_at` is two intervals ahead; jitter covers small clock differences. */
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

export function jobAhead(
  job: QueuedJob,
  baseSeconds: number,
  limits: AheadLimits,
  nowMs: number,
): { scheduledAt: boolean; retryAfter: boolean } {
  const slotMs = nowMs + (baseSeconds * limits.jobIntervals + limits.slackSeconds) * 1000;
  return jobBeyond(job, slotMs, limits, nowMs);
}

/** `slotMs`: the latest scheduled run. */
export function jobBeyond(
  job: QueuedJob,
  slotMs: number,
  { pauseSeconds, slackSeconds }: AheadLimits,
  nowMs: number,
): { scheduledAt: boolean; retryAfter: boolean } {
  const pauseMs = nowMs + (pauseSeconds + slackSeconds) * 1000;
  const isPlaced = job.type === 'incremental' && job.retryAfterMs === undefined;
  return {
    scheduledAt: job.scheduledAtMs > (isPlaced ? slotMs : Math.max(slotMs, pauseMs)),
    retryAfter: job.retryAfterMs !== undefined && job.retryAfterMs > pauseMs,
  };
}

/** Undefined: unchanged. */
export function correctedTimes({
  isNextRunAhead: isAhead,
  ...input
}: RescheduleInput & { isNextRunAhead: boolean }): {
  nextRunAtMs: number | undefined;
  scheduledAtMs: number | undefined;
} {
  const { pending, baseSeconds, jitterSeconds, nowMs } = input;
  // The wrong clock may have written it.
  const lastEndedMs = input.lastEndedMs === undefined ? undefined : Math.min(input.lastEndedMs, nowMs);
  const moved = reschedule({ ...input, lastEndedMs });
  // SCH-6: a first run is due now.
  const bootstrapMs = pending === 'none' ? nowMs : nowMs + (baseSeconds + jitterSeconds) * 1000;
  return {
    nextRunAtMs: isAhead ? (moved.nextRunAtMs ?? bootstrapMs) : undefined,
    scheduledAtMs: pending === 'placed' ? (moved.job?.scheduledAtMs ?? nowMs) : undefined,
  };
}
