import { nextSlot } from './slot.ts';

export interface PlacementInput {
  /** Of the latest incremental job. */
  lastEndedMs: number | undefined;
  /** `first_activated_at`. */
  activatedMs: number | undefined;
  createdMs: number;
  baseSeconds: number;
  jitterSeconds: number;
  nowMs: number;
}

export interface Placement {
  /** Before jitter. */
  slotMs: number;
  scheduledAtMs: number;
  nextRunAtMs: number;
}

export function place(input: PlacementInput): Placement {
  const { lastEndedMs } = input;
  return lastEndedMs === undefined ? placeFirst(input) : placeNext({ ...input, lastEndedMs });
}

/** Postgres has `infinity` and longer years. */
export function isFiniteInstant(ms: number): boolean {
  return Math.abs(ms) < Date.UTC(9999, 11, 31);
}

/** SCH-6. */
function placeFirst(input: PlacementInput): Placement {
  const { baseSeconds, jitterSeconds, nowMs } = input;
  return {
    slotMs: nowMs,
    scheduledAtMs: nowMs,
    nextRunAtMs: activationOf(input) + (baseSeconds + jitterSeconds) * 1000,
  };
}

/** A future time would delay the second run. */
function activationOf({ activatedMs, createdMs, nowMs }: PlacementInput): number {
  const isUsable = (ms: number | undefined) => ms !== undefined && isFiniteInstant(ms) && ms <= nowMs;
  return [activatedMs, createdMs].find(isUsable) ?? nowMs;
}

/** SCH-5. */
export function placeNext({
  lastEndedMs,
  baseSeconds,
  jitterSeconds,
  nowMs,
}: Omit<PlacementInput, 'activatedMs' | 'createdMs'> & { lastEndedMs: number }): Placement {
  const slotMs = nextSlot(lastEndedMs, baseSeconds, nowMs);
  return { slotMs, scheduledAtMs: slotMs + jitterSeconds * 1000, nextRunAtMs: slotMs + baseSeconds * 1000 };
}
