import type { AheadLimits } from './ahead.ts';
import type { IntervalBounds } from './interval.ts';
import { type JitterBounds, sampleJitter, scheduleJitterRange } from './jitter.ts';
import type { Placement } from './placement.ts';
import type { PendingState } from './reschedule.ts';
import { type ScheduledSlot, scheduledSlot } from './slot.ts';
import type { Timetable } from './timetable.ts';

type ScheduleBounds = IntervalBounds & JitterBounds;

export interface PlacedBySchedule extends Placement {
  /** From the slot to the next occurrence. */
  baseSeconds: number;
  jitterSeconds: number;
}

export interface ScheduledInput {
  timetable: Timetable;
  lastEndedMs: number | undefined;
  /** `next_run_at`: earlier occurrences are placed or precede the schedule. */
  nextRunAtMs: number | undefined;
  bounds: ScheduleBounds;
  random: number;
  nowMs: number;
}

export function placeBySchedule(input: ScheduledInput): PlacedBySchedule {
  const { timetable, lastEndedMs, nextRunAtMs = Number.NEGATIVE_INFINITY, nowMs } = input;
  // SCH-6.
  if (lastEndedMs === undefined) {
    const { nextMs, afterNextMs } = timetable.around(nowMs);
    const baseSeconds = (afterNextMs - nextMs) / 1000;
    return { slotMs: nowMs, scheduledAtMs: nowMs, nextRunAtMs: nextMs, baseSeconds, jitterSeconds: 0 };
  }
  // A future end comes from a wrong clock.
  const sinceMs = Math.max(Math.min(lastEndedMs, nowMs), nextRunAtMs - 1);
  return placeInSlot(scheduledSlot(timetable, sinceMs, nowMs), input);
}

function placeInSlot(
  { slotMs, nextMs }: ScheduledSlot,
  { bounds, random }: Pick<ScheduledInput, 'bounds' | 'random'>,
): PlacedBySchedule {
  const baseSeconds = (nextMs - slotMs) / 1000;
  const jitterSeconds = sampleJitter(scheduleJitterRange(baseSeconds, bounds), random);
  return {
    slotMs,
    scheduledAtMs: slotMs + jitterSeconds * 1000,
    nextRunAtMs: nextMs,
    baseSeconds,
    jitterSeconds,
  };
}

/**
 * A changed schedule starts at the next occurrence, without catching up. `next_run_at` keeps the occurrence
 * of a moved job: brought forward, it still gets a run.
 */
export function rescheduleBySchedule(
  pending: PendingState,
  input: Pick<ScheduledInput, 'timetable' | 'lastEndedMs' | 'bounds' | 'random' | 'nowMs'>,
): { nextRunAtMs: number | undefined; job: PlacedBySchedule | undefined } {
  const { timetable, lastEndedMs, nowMs } = input;
  const { nextMs, afterNextMs } = timetable.around(nowMs);
  if (pending === 'placed') {
    return { nextRunAtMs: nextMs, job: placeInSlot({ slotMs: nextMs, nextMs: afterNextMs }, input) };
  }
  // SCH-6: a first run stays due.
  const isFirst = pending === 'none' && lastEndedMs === undefined;
  return { nextRunAtMs: isFirst ? undefined : nextMs, job: undefined };
}

/** Later times come from a wrong clock or another schedule. */
export function scheduleAheadLimits(
  { around }: Timetable,
  { defaultIntervalSeconds, jobIntervals, slackSeconds }: AheadLimits,
  nowMs: number,
): { nextRunAtMs: number; scheduledAtMs: number } {
  const { nextMs, afterNextMs } = around(nowMs + slackSeconds * 1000);
  // See scheduleJitterRange.
  const maxJitterMs = defaultIntervalSeconds * (jobIntervals - 1) * 1000;
  return { nextRunAtMs: afterNextMs, scheduledAtMs: nextMs + maxJitterMs };
}

/** Missed occurrences are caught up. */
export function correctBySchedule(
  pending: PendingState,
  input: Omit<ScheduledInput, 'nextRunAtMs'>,
): { nextRunAtMs: number; scheduledAtMs: number; jitterSeconds: number } {
  const { timetable, nowMs } = input;
  const placed = placeBySchedule({ ...input, nextRunAtMs: undefined });
  if (pending === 'none') return { ...placed, nextRunAtMs: placed.slotMs };
  return { ...placed, nextRunAtMs: timetable.around(nowMs).nextMs };
}

export function previewSchedule(
  input: Omit<ScheduledInput, 'random'> & {
    pendingAtMs: number | undefined;
    tickIntervalSeconds: number;
  },
  count: number,
): { earliestMs: number; latestMs: number }[] {
  const { timetable, nextRunAtMs, pendingAtMs, nowMs } = input;
  const placedMs = Math.max(nowMs, (nextRunAtMs ?? nowMs) - input.tickIntervalSeconds * 1000);
  const first = placeBySchedule({ ...input, random: 0, nowMs: placedMs });
  const startMs = pendingAtMs ?? (input.lastEndedMs === undefined ? placedMs : undefined);
  const runs = startMs === undefined ? [] : [{ earliestMs: startMs, latestMs: startMs }];
  let slotMs = startMs === undefined ? first.slotMs : timetable.around(Math.max(startMs, nowMs)).nextMs;
  while (runs.length < count) {
    const { nextMs } = timetable.around(slotMs);
    const { minSeconds, maxSeconds } = scheduleJitterRange((nextMs - slotMs) / 1000, input.bounds);
    runs.push({ earliestMs: slotMs + minSeconds * 1000, latestMs: slotMs + maxSeconds * 1000 });
    slotMs = nextMs;
  }
  return runs.slice(0, count);
}
