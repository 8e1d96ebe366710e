import { type Placement, placeNext } from './placement.ts';
import { nextSlot } from './slot.ts';

/** What a connection's incremental job is doing: there is none, it waits for its time, or it is due or running. */
export type PendingState = 'none' | 'placed' | 'under way';

export interface RescheduleInput {
  pending: PendingState;
  lastEndedMs: number | undefined;
  baseSeconds: number;
  jitterSeconds: number;
  nowMs: number;
}

/** What changes when the interval does. Undefined stays as it is. */
export interface Rescheduled {
  nextRunAtMs: number | undefined;
  /** Where the job that waits for its time moves to. */
  job: Placement | undefined;
}

/** Re-places the next run after the interval changed, from the same `last` and by the same formula as a tick. */
export function reschedule(input: RescheduleInput): Rescheduled {
  const { pending, lastEndedMs, baseSeconds, nowMs } = input;
  // The run ends no sooner than now, so the next is at least an interval away.
  if (pending === 'under way') return { nextRunAtMs: nowMs + baseSeconds * 1000, job: undefined };
  // Never ran: still due at once.
  if (lastEndedMs === undefined) return { nextRunAtMs: undefined, job: undefined };
  if (pending === 'none') return { nextRunAtMs: nextSlot(lastEndedMs, baseSeconds, nowMs), job: undefined };
  const job = placeNext({ ...input, lastEndedMs });
  return { nextRunAtMs: job.nextRunAtMs, job };
}
