import { hasEvent } from '../causes.ts';
import { ofTheEngine } from '../invariant.ts';
import { instantMs, isSameTime, type Placed, placementsOf, slotMsOf } from '../placements.ts';
import { type Connection, msOf, syncOf } from '../rows.ts';

const of = ({ job }: Placed) => ({ jobId: job.id, connectionId: job.connection_id });
const iso = (ms: number) => (Number.isFinite(ms) ? new Date(ms).toISOString() : String(ms));
const nextRunAt = (connection: Connection) => syncOf(connection)['next_run_at'];

/** SCH-5; SCH-6: a new customer does not wait, not even for jitter. */
export const placedAtItsSlot = ofTheEngine(
  'a job is placed at its slot, plus its jitter',
  (commit, world, schedule) =>
    placementsOf(commit, world, schedule).flatMap((placed) => {
      const { lastMs, jitterMs, job } = placed;
      const expectedMs = slotMsOf(placed) + (lastMs === undefined ? 0 : jitterMs);
      if (isSameTime(msOf(job.scheduled_at), expectedMs)) return [];
      return [
        {
          ...of(placed),
          detail: `scheduled for ${job.scheduled_at}; its slot and jitter say ${iso(expectedMs)}`,
        },
      ];
    }),
);

/** SCH-5: so it is always after the tick that writes it; SCH-6 counts from when the connection was first active. */
export const looksAgainInTime = ofTheEngine(
  'the next run is one interval after the slot',
  (commit, world, schedule) =>
    placementsOf(commit, world, schedule).flatMap((placed) => {
      const { left, baseMs, jitterMs, lastMs } = placed;
      const expectedMs =
        lastMs === undefined ? activationMs(placed) + baseMs + jitterMs : slotMsOf(placed) + baseMs;
      const writtenMs = instantMs(nextRunAt(left));
      if (!Number.isFinite(expectedMs) || isSameTime(writtenMs ?? Number.NaN, expectedMs)) return [];
      return [
        {
          ...of(placed),
          detail: `next_run_at is ${String(nextRunAt(left))}, and should be ${iso(expectedMs)}`,
        },
      ];
    }),
);

/** SCH-6: a time ahead of the tick counts as absent. */
function activationMs({ found, tickMs }: Placed): number {
  const times = [instantMs(syncOf(found)['first_activated_at']), msOf(found.created_at)];
  return times.find((ms) => ms !== undefined && ms <= tickMs) ?? tickMs;
}

/** SCH-4. */
export const jitterIsBounded = ofTheEngine(
  'jitter is a whole number of seconds within its bounds',
  (commit, world, schedule) =>
    placementsOf(commit, world, schedule).flatMap((placed) => {
      const seconds = placed.jitterMs / 1000;
      // A billionth decides nothing: 0.07 · 100 is 7.000000000000001.
      const product = (fraction: number) => Math.round(fraction * (placed.baseMs / 1000) * 1e9) / 1e9;
      const most = Math.floor(product(schedule.jitterPctMax));
      const least = Math.min(Math.ceil(product(schedule.jitterPctMin)), most);
      if (Number.isInteger(seconds) && seconds >= least && seconds <= most) return [];
      return [{ ...of(placed), detail: `${seconds} s, with ${least} to ${most} allowed` }];
    }),
);

export const slotsAreTakenOnce = ofTheEngine(
  'no slot of a connection is placed twice',
  (commit, world, schedule) =>
    placementsOf(commit, world, schedule).flatMap((placed) => {
      const first = world.holderOfSlot(placed.job, slotMsOf(placed));
      return first === placed.job.id
        ? []
        : [{ ...of(placed), detail: `${iso(slotMsOf(placed))} was placed as job ${first}` }];
    }),
);

/** SCH-2: one tick ahead, and no further. */
export const placedWhenDue = ofTheEngine(
  'a connection is placed only when it is due',
  (commit, world, schedule) =>
    placementsOf(commit, world, schedule).flatMap((placed) => {
      const dueMs = instantMs(nextRunAt(placed.found));
      if (dueMs === undefined || dueMs <= placed.tickMs + schedule.tickIntervalSeconds * 1000) return [];
      return [{ ...of(placed), detail: `due ${iso(dueMs)}, placed ${iso(placed.tickMs)}` }];
    }),
);

export const placedWhenActive = ofTheEngine(
  'a connection is placed only while it is active',
  (commit, world, schedule) =>
    placementsOf(commit, world, schedule)
      .filter(({ left }) => left.status !== 'active')
      .map((placed) => ({ ...of(placed), detail: `it is ${placed.left.status}` })),
);

/** SCH-1: the job and the time of the next look are written together. */
export const movesWithAJob = ofTheEngine(
  'next_run_at moves only with a placement, or when the interval is changed or the schedule repaired',
  (commit, world, schedule) => {
    const placed = new Set(placementsOf(commit, world, schedule).map(({ left }) => left.id));
    return commit.connections.flatMap(({ before, after }) => {
      if (!before || !after || nextRunAt(before) === nextRunAt(after)) return [];
      const moves = ['connection.interval_changed', 'connection.schedule_repaired'];
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
