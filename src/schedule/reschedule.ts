import { type Placement, placeNext } from './placement.ts';
import { nextSlot } from './slot.ts';

/** `placed`: not yet due; `under way`: due or running. */
export type PendingState = 'none' | 'placed' | 'under way';

export interface RescheduleInput {
  pending: PendingState;
  lastEndedMs: number | undefined;
  baseSeconds: number;
  jitterSeconds: number;
  nowMs: number;
}

/** Undefined: unchanged. */
export interface Rescheduled {
  nextRunAtMs: number | undefined;
  job: Placement | undefined;
}

export function reschedule(input: RescheduleInput): Rescheduled {
  const { pending, lastEndedMs, baseSeconds, nowMs } = input;
  // Ends now at the earliest.
  if (pending === 'under way') return { nextRunAtMs: nowMs + baseSeconds * 1000, job: undefined };
  if (lastEndedMs === undefined) return { nextRunAtMs: undefined, job: undefined };
  if (pending === 'none') return { nextRunAtMs: nextSlot(lastEndedMs, baseSeconds, nowMs), job: undefined };
  const job = placeNext({ ...input, lastEndedMs });
  return { nextRunAtMs: job.nextRunAtMs, job };
}
