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
  const { lastEndedMs } = input;
  return lastEndedMs === undefined ? placeFirst(input) : placeNext({ ...input, lastEndedMs });
}

/** Postgres knows `infinity`, and years that no ISO-8601 date can name: those are no times to count from. */
export function isCountable(ms: number): boolean {
  return Math.abs(ms) < Date.UTC(9999, 11, 31);
}

/** SCH-6: a new customer does not wait. */
function placeFirst({ activatedMs, baseSeconds, jitterSeconds, nowMs }: PlacementInput): Placement {
  const reference = isCountable(activatedMs) ? activatedMs : nowMs;
  return {
    slotMs: nowMs,
    scheduledAtMs: nowMs,
    nextRunAtMs: reference + (baseSeconds + jitterSeconds) * 1000,
  };
}

/** SCH-5: the run after one that ended. */
export function placeNext({
  lastEndedMs,
  baseSeconds,
  jitterSeconds,
  nowMs,
}: Omit<PlacementInput, 'activatedMs'> & { lastEndedMs: number }): Placement {
  const slotMs = nextSlot(lastEndedMs, baseSeconds, nowMs);
  return { slotMs, scheduledAtMs: slotMs + jitterSeconds * 1000, nextRunAtMs: slotMs + baseSeconds * 1000 };
}
