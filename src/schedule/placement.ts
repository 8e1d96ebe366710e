import { nextSlot } from './slot.ts';

/** What decides when a connection runs next. Times are milliseconds since 1970. */
export interface PlacementInput {
  /** When its latest incremental job ended; undefined if none ever has. */
  lastEndedMs: number | undefined;
  /** When it first became active, or was created. */
  activatedMs: number;
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
  return input.lastEndedMs === undefined ? placeFirst(input) : placeNext(input, input.lastEndedMs);
}

/** Postgres knows `infinity`, and years that a JavaScript date does not. Past this one, a time is no time to count from. */
const farthestMs = Date.UTC(9999, 11, 31);

/** SCH-6: a new customer does not wait. */
function placeFirst({ activatedMs, baseSeconds, jitterSeconds, nowMs }: PlacementInput): Placement {
  const reference = Math.abs(activatedMs) < farthestMs ? activatedMs : nowMs;
  return {
    slotMs: nowMs,
    scheduledAtMs: nowMs,
    nextRunAtMs: reference + (baseSeconds + jitterSeconds) * 1000,
  };
}

/** SCH-5. */
function placeNext({ baseSeconds, jitterSeconds, nowMs }: PlacementInput, lastEndedMs: number): Placement {
  const slotMs = nextSlot(believableEnd(lastEndedMs, baseSeconds, nowMs), baseSeconds, nowMs);
  return { slotMs, scheduledAtMs: slotMs + jitterSeconds * 1000, nextRunAtMs: slotMs + baseSeconds * 1000 };
}

/**
 * Clocks differ a little, so an end may lie ahead of now. One that lies ahead by more than an interval was written by a
 * broken clock; taken at its word, it would keep the connection from ever running again.
 */
function believableEnd(lastEndedMs: number, baseSeconds: number, nowMs: number): number {
  return lastEndedMs > nowMs + baseSeconds * 1000 ? nowMs : lastEndedMs;
}
