import { type JitterBounds, type JitterRange, jitterRange } from './jitter.ts';
import { nextSlot } from './slot.ts';

export interface PreviewInput {
  lastEndedMs: number | undefined;
  nextRunAtMs: number | undefined;
  /** `scheduled_at` of the pending job. */
  pendingAtMs: number | undefined;
  baseSeconds: number;
  jitter: JitterBounds;
  tickIntervalSeconds: number;
  nowMs: number;
}

interface RunWindowMs {
  earliestMs: number;
  latestMs: number;
}

/** Jitter adds up: windows widen. Runs take no time. */
export function previewRuns(input: PreviewInput, count: number): RunWindowMs[] {
  const jitter = jitterRange(input.baseSeconds, input.jitter);
  const runs = [firstRun(input, jitter)];
  while (runs.length < count) {
    const before = runs[runs.length - 1] as RunWindowMs;
    runs.push({
      earliestMs: Math.max(before.earliestMs, input.nowMs) + (input.baseSeconds + jitter.minSeconds) * 1000,
      latestMs: Math.max(before.latestMs, input.nowMs) + (input.baseSeconds + jitter.maxSeconds) * 1000,
    });
  }
  return runs.slice(0, count);
}

function firstRun(input: PreviewInput, { minSeconds, maxSeconds }: JitterRange): RunWindowMs {
  const { lastEndedMs, pendingAtMs, nextRunAtMs, nowMs } = input;
  if (pendingAtMs !== undefined) return { earliestMs: pendingAtMs, latestMs: pendingAtMs };
  // The scheduler places it one tick ahead.
  const placedMs = Math.max(nowMs, (nextRunAtMs ?? nowMs) - input.tickIntervalSeconds * 1000);
  if (lastEndedMs === undefined) return { earliestMs: placedMs, latestMs: placedMs };
  const slotMs = nextSlot(lastEndedMs, input.baseSeconds, placedMs);
  return { earliestMs: slotMs + minSeconds * 1000, latestMs: slotMs + maxSeconds * 1000 };
}
