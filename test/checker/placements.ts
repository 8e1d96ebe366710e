import { causeOf, jobsCreated } from './causes.ts';
import type { Commit, DatabaseState } from './database-state.ts';
import type { Schedule } from './invariant.ts';
import { type Connection, type Job, msOf, syncOf } from './rows.ts';

export interface Placed {
  job: Job;
  before: Connection;
  after: Connection;
  tickMs: number;
  baseMs: number;
  jitterMs: number;
  lastMs: number | undefined;
}

export function placementsOf(commit: Commit, state: DatabaseState, schedule: Schedule): Placed[] {
  return jobsCreated(commit)
    .filter((job) => causeOf(commit, job) === 'scheduled')
    .flatMap((job) => {
      const after = state.connections.get(job.connection_id);
      if (!after) return [];
      const before =
        commit.connections.find(({ after: changed }) => changed?.id === after.id)?.before ?? after;
      return [placed(job, before, after, schedule)];
    });
}

/** Of connections without a schedule, which has other slots. */
export const intervalPlacementsOf = (...args: Parameters<typeof placementsOf>): Placed[] =>
  placementsOf(...args).filter(({ before }) => (before.schedule ?? null) === null);

function placed(job: Job, before: Connection, after: Connection, schedule: Schedule): Placed {
  const tickMs = msOf(job.created_at);
  const baseMs = intervalSeconds(before, schedule) * 1000;
  const jitterMs = Number(syncOf(after)['last_jitter_seconds']) * 1000;
  const lastMs = before.last_incremental_ended_at ? msOf(before.last_incremental_ended_at) : undefined;
  return { job, before, after, tickMs, baseMs, jitterMs, lastMs };
}

/** SCH-3. */
function intervalSeconds(connection: Connection, schedule: Schedule): number {
  const own = syncOf(connection)['interval_seconds'];
  const isAllowed =
    Number.isInteger(own) && Number(own) >= 60 && Number(own) <= schedule.maxOverriddenIntervalSeconds;
  return isAllowed ? Number(own) : schedule.defaultIntervalSeconds;
}

/** SCH-5, SCH-6. An end time far in the future (wrong clock) counts as now. */
export function slotMsOf({ lastMs, baseMs, tickMs }: Placed): number {
  if (lastMs === undefined) return tickMs;
  const endedMs = lastMs > tickMs + baseMs ? tickMs : lastMs;
  return endedMs + Math.max(1, Math.floor((tickMs - endedMs) / baseMs)) * baseMs;
}

/** Postgres stores microseconds, JavaScript milliseconds. */
export const isSameTime = (aMs: number, bMs: number): boolean => Math.abs(aMs - bMs) <= 2;

const isoInstant =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-5]):[0-5]\d)$/;

/** A valid instant of `metadata.sync`; anything else counts as absent. */
export function instantMs(value: unknown): number | undefined {
  const match = typeof value === 'string' ? isoInstant.exec(value) : null;
  if (!match) return undefined;
  const [text, year, month, day] = match;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  // Date.parse would accept February 30 as a day in March.
  return date.getUTCDate() === Number(day) ? Date.parse(text) : undefined;
}
