import { nextSlot } from './slot.ts';

/** What decides when a connection runs next. Times are milliseconds since 1970. */
export interface PlacementInput {
  /** When its latest incremental job ended; undefined if none ever has. */
  lastEndedMs: number | undefined;
  /** When it first became active, as its metadata says; undefined if it does not. */
  activatedMs: number | undefined;
  createdMs: number;
  baseSeconds: number;
  jitterSeconds: number;
  nowMs: number;
}

/** Where the next run is placed, and when the scheduler looks at the connection again. */
export interface Placement {
  /** The nominal time of the run, before jitter. */
  slotMs: number;
  scheduledAtMs: number;
  nextRunAtMs: number;
}

export function place(input: PlacementInput): Placement {
  const { lastEndedMs } = input;
  return lastEndedMs === undefined ? placeFirst(input) : placeNext({ ...input, lastEndedMs });
}

/** Postgres knows `infinity`, and years that no ISO-8601 date can name: those are no times to count from. */
export function isCountable(ms: number): boolean {
  return Math.abs(ms) < Date.UTC(9999, 11, 31);
}

/** SCH-6: a new customer does not wait. */
function placeFirst(input: PlacementInput): Placement {
  const { baseSeconds, jitterSeconds, nowMs } = input;
  return {
    slotMs: nowMs,
    scheduledAtMs: nowMs,
    nextRunAtMs: activationOf(input) + (baseSeconds + jitterSeconds) * 1000,
  };
}

/** A time ahead of now was written by a wrong clock and counts as absent: counted from, it would delay the second run. */
function activationOf({ activatedMs, createdMs, nowMs }: PlacementInput): number {
  const isUsable = (ms: number | undefined) => ms !== undefined && isCountable(ms) && ms <= nowMs;
  return [activatedMs, createdMs].find(isUsable) ?? nowMs;
}

/** SCH-5: the run after one that ended. */
export function placeNext({
  lastEndedMs,
  baseSeconds,
  jitterSeconds,
  nowMs,
}: Omit<PlacementInput, 'activatedMs' | 'createdMs'> & { lastEndedMs: number }): Placement {
  const slotMs = nextSlot(lastEndedMs, baseSeconds, nowMs);
  return { slotMs, scheduledAtMs: slotMs + jitterSeconds * 1000, nextRunAtMs: slotMs + baseSeconds * 1000 };
}
