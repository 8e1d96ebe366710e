import type { Timetable } from './timetable.ts';

/** SCH-5: the latest multiple of the interval after `lastEndedMs` up to `nowMs`, at least one. */
export function nextSlot(lastEndedMs: number, baseSeconds: number, nowMs: number): number {
  const baseMs = baseSeconds * 1000;
  const endedMs = clampEnd(lastEndedMs, baseMs, nowMs);
  return endedMs + Math.max(1, Math.floor((nowMs - endedMs) / baseMs)) * baseMs;
}

/** An end further ahead (wrong clock) would stop the connection. */
function clampEnd(lastEndedMs: number, baseMs: number, nowMs: number): number {
  return lastEndedMs > nowMs + baseMs ? nowMs : lastEndedMs;
}

export interface ScheduledSlot {
  slotMs: number;
  /** The occurrence after the slot. */
  nextMs: number;
}

/**
 * SCH-12: the latest occurrence after `sinceMs` up to `nowMs`, else the next. One search, whatever the
 * downtime.
 */
export function scheduledSlot({ around }: Timetable, sinceMs: number, nowMs: number): ScheduledSlot {
  const { latestMs, nextMs, afterNextMs } = around(Math.max(sinceMs, nowMs));
  return latestMs > sinceMs ? { slotMs: latestMs, nextMs } : { slotMs: nextMs, nextMs: afterNextMs };
}
