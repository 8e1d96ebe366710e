import { causeOf, jobsMade } from './causes.ts';
import type { Schedule } from './invariant.ts';
import { type Connection, type Job, msOf, syncOf } from './rows.ts';
import type { Commit, World } from './world.ts';

/** A job that a scheduler placed, and what it went by. */
export interface Placed {
  job: Job;
  /** The connection as the scheduler found it, and as it left it. */
  found: Connection;
  left: Connection;
  tickMs: number;
  baseMs: number;
  jitterMs: number;
  /** When its latest incremental job had ended; undefined if none ever had. */
  lastMs: number | undefined;
}

export function placementsOf(commit: Commit, world: World, schedule: Schedule): Placed[] {
  return jobsMade(commit)
    .filter((job) => causeOf(commit, job) === 'placed')
    .flatMap((job) => {
      const left = world.connections.get(job.connection_id);
      if (!left) return [];
      const found = commit.connections.find(({ after }) => after?.id === left.id)?.before ?? left;
      return [placed(job, found, left, schedule)];
    });
}

function placed(job: Job, found: Connection, left: Connection, schedule: Schedule): Placed {
  const tickMs = msOf(job.created_at);
  const baseMs = intervalSeconds(found, schedule) * 1000;
  const jitterMs = Number(syncOf(left)['last_jitter_seconds']) * 1000;
  const lastMs = found.last_incremental_ended_at ? msOf(found.last_incremental_ended_at) : undefined;
  return { job, found, left, tickMs, baseMs, jitterMs, lastMs };
}

/** SCH-3. */
function intervalSeconds(connection: Connection, schedule: Schedule): number {
  const own = syncOf(connection)['interval_seconds'];
  const isAllowed =
    Number.isInteger(own) && Number(own) >= 60 && Number(own) <= schedule.maxOverriddenIntervalSeconds;
  return isAllowed ? Number(own) : schedule.defaultIntervalSeconds;
}

/** SCH-5, SCH-6: the nominal time of the run. An end that a broken clock put far ahead counts as now. */
export function slotMsOf({ lastMs, baseMs, tickMs }: Placed): number {
  if (lastMs === undefined) return tickMs;
  const endedMs = lastMs > tickMs + baseMs ? tickMs : lastMs;
  return endedMs + Math.max(1, Math.floor((tickMs - endedMs) / baseMs)) * baseMs;
}

/** Times are kept to the microsecond by some and to the millisecond by others. */
export const isSameTime = (aMs: number, bMs: number): boolean => Math.abs(aMs - bMs) <= 2;

const isoInstant =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-5]):[0-5]\d)$/;

/** An instant as it may stand in `metadata.sync`; anything else counts as absent. */
export function instantMs(value: unknown): number | undefined {
  const match = typeof value === 'string' ? isoInstant.exec(value) : null;
  if (!match) return undefined;
  const [text, year, month, day] = match;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  // February 30th would be taken for a day in March.
  return date.getUTCDate() === Number(day) ? Date.parse(text) : undefined;
}
