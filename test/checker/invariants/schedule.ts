import { hasEvent } from '../causes.ts';
import { engineOnly } from '../invariant.ts';
import { occurrencesOf } from '../occurrences.ts';
import {
  instantMs,
  intervalPlacementsOf,
  isSameTime,
  type Placed,
  placementsOf,
  slotMsOf,
} from '../placements.ts';
import { type Connection, msOf, syncOf } from '../rows.ts';

const subject = ({ job }: Placed) => ({ jobId: job.id, connectionId: job.connection_id });
const iso = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : String(ms));
const nextRunAt = (connection: Connection) => syncOf(connection)['next_run_at'];

/** SCH-5; SCH-6: the first run has no jitter. */
export const placedAtItsSlot = engineOnly(
  'a job is scheduled at its slot plus its jitter',
  (commit, state, schedule) =>
    intervalPlacementsOf(commit, state, schedule).flatMap((placed) => {
      const { lastMs, jitterMs, job } = placed;
      const expectedMs = slotMsOf(placed) + (lastMs === undefined ? 0 : jitterMs);
      if (isSameTime(msOf(job.scheduled_at), expectedMs)) return [];
      return [
        {
          ...subject(placed),
          detail: `scheduled for ${job.scheduled_at}; its slot plus jitter is ${iso(expectedMs)}`,
        },
      ];
    }),
);

/** SCH-5: always after the tick that writes it. SCH-6: relative to the first activation. */
export const looksAgainInTime = engineOnly(
  'the next run is one interval after the slot',
  (commit, state, schedule) =>
    intervalPlacementsOf(commit, state, schedule).flatMap((placed) => {
      const { after, baseMs, jitterMs, lastMs } = placed;
      const expectedMs =
        lastMs === undefined ? activationMs(placed) + baseMs + jitterMs : slotMsOf(placed) + baseMs;
      const writtenMs = instantMs(nextRunAt(after));
      if (!Number.isFinite(expectedMs) || isSameTime(writtenMs ?? Number.NaN, expectedMs)) return [];
      return [
        {
          ...subject(placed),
          detail: `next_run_at is ${String(nextRunAt(after))}, expected ${iso(expectedMs)}`,
        },
      ];
    }),
);

/** SCH-6: a time after the tick counts as absent. */
function activationMs({ before, tickMs }: Placed): number {
  const times = [instantMs(syncOf(before)['first_activated_at']), msOf(before.created_at)];
  return times.find((ms) => ms !== undefined && ms <= tickMs) ?? tickMs;
}

/** SCH-4. */
export const jitterIsBounded = engineOnly(
  'jitter is a whole number of seconds within its bounds',
  (commit, state, schedule) =>
    intervalPlacementsOf(commit, state, schedule).flatMap((placed) => {
      const seconds = placed.jitterMs / 1000;
      // Avoids floating-point errors: 0.07 * 100 is 7.000000000000001.
      const product = (fraction: number) => Math.round(fraction * (placed.baseMs / 1000) * 1e9) / 1e9;
      const max = Math.floor(product(schedule.jitterPctMax));
      const min = Math.min(Math.ceil(product(schedule.jitterPctMin)), max);
      if (Number.isInteger(seconds) && seconds >= min && seconds <= max) return [];
      return [{ ...subject(placed), detail: `${seconds} s, allowed ${min} to ${max}` }];
    }),
);

export const slotsAreTakenOnce = engineOnly(
  'no slot of a connection is scheduled twice',
  (commit, state, schedule) =>
    intervalPlacementsOf(commit, state, schedule).flatMap((placed) => {
      const first = state.holderOfSlot(placed.job, slotMsOf(placed));
      return first === placed.job.id
        ? []
        : [{ ...subject(placed), detail: `${iso(slotMsOf(placed))} was placed as job ${first}` }];
    }),
);

/** SCH-2: at most one tick ahead. */
export const placedWhenDue = engineOnly(
  'a connection is scheduled only when it is due',
  (commit, state, schedule) =>
    placementsOf(commit, state, schedule).flatMap((placed) => {
      const dueMs = instantMs(nextRunAt(placed.before));
      if (dueMs === undefined || dueMs <= placed.tickMs + schedule.tickIntervalSeconds * 1000) return [];
      return [{ ...subject(placed), detail: `due ${iso(dueMs)}, placed ${iso(placed.tickMs)}` }];
    }),
);

export const placedWhenActive = engineOnly(
  'a connection is scheduled only while it is active',
  (commit, state, schedule) =>
    placementsOf(commit, state, schedule)
      .filter(({ after }) => after.status !== 'active')
      .map((placed) => ({ ...subject(placed), detail: `it is ${placed.after.status}` })),
);

/** SCH-1: the job and next_run_at are written in one transaction. Schedules: see timetable.ts. */
export const movesWithAJob = engineOnly(
  'next_run_at changes only with a new job, a changed interval or schedule, or a repair',
  (commit, state, schedule) => {
    const placed = new Set(placementsOf(commit, state, schedule).map(({ after }) => after.id));
    return commit.connections.flatMap(({ before, after }) => {
      if (!before || !after || nextRunAt(before) === nextRunAt(after)) return [];
      if (occurrencesOf(after.schedule)) return [];
      const moves = ['interval_changed', 'schedule_changed', 'schedule_repaired'].map(
        (kind) => `connection.${kind}`,
      );
      if (placed.has(after.id) || moves.some((kind) => hasEvent(commit, after.id, kind))) return [];
      return [
        {
          connectionId: after.id,
          detail: `from ${String(nextRunAt(before))} to ${String(nextRunAt(after))}`,
        },
      ];
    });
  },
);
