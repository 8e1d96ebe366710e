import { hasEvent } from '../causes.ts';
import { engineOnly, type Schedule } from '../invariant.ts';
import { type Occurrences, occurrencesOf } from '../occurrences.ts';
import { instantMs, isSameTime, type Placed, placementsOf } from '../placements.ts';
import { type Connection, msOf, syncOf } from '../rows.ts';

const subject = ({ job }: Placed) => ({ jobId: job.id, connectionId: job.connection_id });
const iso = (ms: number | undefined) =>
  ms !== undefined && Number.isFinite(ms) ? new Date(ms).toISOString() : String(ms);
const nextRunMs = (connection: Connection) => instantMs(syncOf(connection)['next_run_at']);

interface Slot {
  isFirst: boolean;
  slotMs: number;
  nextMs: number;
}

/** SCH-12: the latest occurrence after the last run and not before next_run_at, up to the tick, else the next. */
function slotOf(occurrences: Occurrences, before: Connection, tickMs: number): Slot {
  const lastMs = msOf(before.last_incremental_ended_at);
  // SCH-6.
  if (Number.isNaN(lastMs)) return { isFirst: true, slotMs: tickMs, nextMs: occurrences.after(tickMs) };
  const fromMs = Math.max(Math.min(lastMs, tickMs) + 1, nextRunMs(before) ?? Number.NEGATIVE_INFINITY);
  const slotMs = occurrences.latest(fromMs, tickMs) ?? occurrences.after(Math.max(fromMs - 1, tickMs));
  return { isFirst: false, slotMs, nextMs: occurrences.after(slotMs) };
}

const scheduledPlacementsOf = (...args: Parameters<typeof placementsOf>): (Placed & Slot)[] =>
  placementsOf(...args).flatMap((placed) => {
    const occurrences = occurrencesOf(placed.before.schedule);
    return occurrences ? [{ ...placed, ...slotOf(occurrences, placed.before, placed.tickMs) }] : [];
  });

export const placedAtItsOccurrence = engineOnly(
  'a job of a schedule is at its occurrence plus its jitter, at most a tick ahead',
  (commit, state, schedule) =>
    scheduledPlacementsOf(commit, state, schedule).flatMap((placed) => {
      const { job, isFirst, slotMs, tickMs, jitterMs } = placed;
      const isNear = slotMs <= tickMs + schedule.tickIntervalSeconds * 1000;
      if (isNear && isSameTime(msOf(job.scheduled_at), slotMs + (isFirst ? 0 : jitterMs))) return [];
      const detail = `scheduled for ${job.scheduled_at} at ${iso(tickMs)}; its occurrence is ${iso(slotMs)}`;
      return [{ ...subject(placed), detail }];
    }),
);

export const looksAgainAtTheNextOccurrence = engineOnly(
  'the next run of a schedule is the occurrence after the slot',
  (commit, state, schedule) =>
    scheduledPlacementsOf(commit, state, schedule)
      .filter(({ after, nextMs }) => nextRunMs(after) !== nextMs)
      .map((placed) => ({
        ...subject(placed),
        detail: `next_run_at is ${iso(nextRunMs(placed.after))}, expected ${iso(placed.nextMs)}`,
      })),
);

export const jitterIsBounded = engineOnly(
  'jitter of a schedule is a share of the distance or the default interval, and below the distance',
  (commit, state, schedule) =>
    scheduledPlacementsOf(commit, state, schedule)
      .filter((placed) => !placed.isFirst && !isAllowedJitter(placed, schedule))
      .map((placed) => ({ ...subject(placed), detail: `${placed.jitterMs / 1000} s` })),
);

function isAllowedJitter({ jitterMs, slotMs, nextMs }: Placed & Slot, schedule: Schedule): boolean {
  const distanceSeconds = (nextMs - slotMs) / 1000;
  const baseSeconds = Math.min(distanceSeconds, schedule.defaultIntervalSeconds);
  const seconds = jitterMs / 1000;
  // A second of tolerance below: the minimum may lie between two whole seconds.
  const [min, max] = [schedule.jitterPctMin * baseSeconds - 1, schedule.jitterPctMax * baseSeconds];
  return Number.isInteger(seconds) && seconds >= min && seconds <= max + 1e-6 && seconds < distanceSeconds;
}

export const occurrencesAreTakenOnce = engineOnly(
  'no occurrence of a schedule is placed twice',
  (commit, state, schedule) =>
    scheduledPlacementsOf(commit, state, schedule).flatMap((placed) => {
      const first = placed.isFirst ? placed.job.id : state.holderOfSlot(placed.job, placed.slotMs);
      return first === placed.job.id
        ? []
        : [{ ...subject(placed), detail: `${iso(placed.slotMs)} was placed as job ${first}` }];
    }),
);

/** A slot more than a tick ahead gets no job yet. A changed schedule does not catch up. */
export const movesToAnOccurrence = engineOnly(
  'without a new job, next_run_at of a schedule moves only to its next occurrence',
  (commit, state, schedule) => {
    const placed = new Set(placementsOf(commit, state, schedule).map(({ after }) => after.id));
    return commit.connections.flatMap(({ before, after }) => {
      const occurrences = occurrencesOf(after?.schedule);
      if (!before || !after || !occurrences || placed.has(after.id)) return [];
      if (nextRunMs(before) === nextRunMs(after)) return [];
      if (hasEvent(commit, after.id, 'connection.schedule_repaired')) return [];
      const nowMs = msOf(after.updated_at);
      const isChanged = hasEvent(commit, after.id, 'connection.schedule_changed');
      const expectedMs = isChanged ? occurrences.after(nowMs) : slotOf(occurrences, before, nowMs).slotMs;
      const isFar = isChanged || expectedMs > nowMs + schedule.tickIntervalSeconds * 1000;
      if (isFar && nextRunMs(after) === expectedMs) return [];
      const detail = `from ${iso(nextRunMs(before))} to ${iso(nextRunMs(after))}, expected ${iso(expectedMs)}`;
      return [{ connectionId: after.id, detail: `${detail} at ${iso(nowMs)}` }];
    });
  },
);
