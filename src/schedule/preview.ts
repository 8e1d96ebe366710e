import { type JitterBounds, jitterRange } from './jitter.ts';
import { nextSlot } from './slot.ts';

export interface PreviewInput {
  lastEndedMs: number | undefined;
  nextRunAtMs: number | undefined;
  /** When the job that is already queued or running is (or was) to start. */
  pendingAtMs: number | undefined;
  baseSeconds: number;
  jitter: JitterBounds;
  tickIntervalSeconds: number;
  nowMs: number;
}

/** The window in which a run starts. */
export interface RunWindow {
  earliestMs: number;
  latestMs: number;
}

/**
 * The next runs, as far as they can be known: jitter is drawn only when a run is placed, and each interval counts from
 * the end of the run before. So the windows widen; a run is taken to end the moment it starts.
 */
export function previewRuns(input: PreviewInput, count: number): RunWindow[] {
  const { least, most } = jitterRange(input.baseSeconds, input.jitter);
  const runs = [firstRun(input, least, most)];
  while (runs.length < count) {
    const before = runs[runs.length - 1] as RunWindow;
    runs.push({
      earliestMs: Math.max(before.earliestMs, input.nowMs) + (input.baseSeconds + least) * 1000,
      latestMs: Math.max(before.latestMs, input.nowMs) + (input.baseSeconds + most) * 1000,
    });
  }
  return runs.slice(0, count);
}

function firstRun(input: PreviewInput, least: number, most: number): RunWindow {
  const { lastEndedMs, pendingAtMs, nextRunAtMs, nowMs } = input;
  if (pendingAtMs !== undefined) return { earliestMs: pendingAtMs, latestMs: pendingAtMs };
  // Placed by the first tick that sees it, which looks one tick ahead.
  const placedMs = Math.max(nowMs, (nextRunAtMs ?? nowMs) - input.tickIntervalSeconds * 1000);
  if (lastEndedMs === undefined) return { earliestMs: placedMs, latestMs: placedMs };
  const slotMs = nextSlot(lastEndedMs, input.baseSeconds, placedMs);
  return { earliestMs: slotMs + least * 1000, latestMs: slotMs + most * 1000 };
}
