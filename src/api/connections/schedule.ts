import type { AuditNote, Recorder } from '../../caller/audit.ts';
import { changeConnection, existingConnection } from '../../caller/connection-access.ts';
import type { Config } from '../../config/settings.ts';
import { invalidArgument } from '../../contract/errors.ts';
import type { Ports } from '../../platform/ports.ts';
import { baseInterval, isAllowedInterval } from '../../schedule/interval.ts';
import { jitterRange, sampleJitter } from '../../schedule/jitter.ts';
import { parseSchedule } from '../../schedule/parse-schedule.ts';
import { type PendingState, reschedule } from '../../schedule/reschedule.ts';
import { type Schedule, type ScheduleInput, scheduleColumn } from '../../schedule/schedule.ts';
import { rescheduleBySchedule } from '../../schedule/scheduled-placement.ts';
import { allowedInterval, readSyncTexts } from '../../schedule/sync-metadata.ts';
import { readTimetable, type Timetable, timetableOf } from '../../schedule/timetable.ts';
import { type LockedConnection, writeSchedule, writeSync } from '../../store/connections.ts';
import type { Database, Queryable } from '../../store/database.ts';
import { findPendingJob, lockWaitingJob, moveJob } from '../../store/jobs.ts';
import { invalid, show } from '../../values/arguments.ts';
import { formatInstant } from '../../values/instant.ts';
import type { ReadJson } from '../../values/stored-json.ts';
import type { ConnectionsApi } from './api.ts';
import { type Connection, connectionFromRow } from './model.ts';

interface Context {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  record: Recorder;
  json: ReadJson;
}

export function createScheduling(
  context: Context,
): Pick<ConnectionsApi, 'setInterval' | 'clearInterval' | 'setSchedule'> {
  const { config } = context;
  return {
    async setInterval(id, intervalSeconds, note = {}) {
      requireInterval(intervalSeconds, config);
      return changeInterval(context, id, intervalSeconds, note);
    },

    async clearInterval(id, note = {}) {
      return changeInterval(context, id, null, note);
    },

    async setSchedule(id, input, note = {}) {
      const schedule = input === null ? null : requireSchedule(input);
      return change(context, id, async (tx, row, now) => {
        const { intervalSeconds } = readSyncTexts(row, config);
        const timetable = schedule ? timetableOf(schedule) : undefined;
        const seconds = baseInterval(intervalSeconds, config);
        await writeSync(tx, now, id, await newTimes(context, tx, row, now, timetable, seconds));
        await writeSchedule(tx, now, id, schedule && scheduleColumn(schedule));
        const from = readTimetable(row.schedule).timetable?.schedule;
        const detail = { from: from ? scheduleColumn(from) : null, to: schedule && scheduleColumn(schedule) };
        const subject = { tenantId: row.tenant_id, connectionId: id };
        await context.record(tx, now, { ...subject, kind: 'connection.schedule_changed', detail }, note);
      });
    },
  };
}

function changeInterval(
  context: Context,
  id: string,
  intervalSeconds: number | null,
  note: AuditNote,
): Promise<Connection> {
  const { config, record } = context;
  return change(context, id, async (tx, row, now) => {
    const seconds = intervalSeconds ?? config.defaultIntervalSeconds;
    const keys = {
      ...(intervalSeconds !== null && { interval_seconds: intervalSeconds }),
      ...(await newTimes(context, tx, row, now, undefined, seconds)),
    };
    await writeSync(tx, now, id, keys, intervalSeconds === null ? 'interval_seconds' : undefined);
    if (row.schedule !== null) await writeSchedule(tx, now, id, null);
    const detail = { from: readSyncTexts(row, config).intervalSeconds ?? null, to: intervalSeconds };
    const subject = { tenantId: row.tenant_id, connectionId: id };
    await record(tx, now, { ...subject, kind: 'connection.interval_changed', detail }, note);
  });
}

function change(
  { db, config, json }: Context,
  id: string,
  work: (tx: Queryable, row: LockedConnection, now: Date) => Promise<void>,
): Promise<Connection> {
  return changeConnection({ db }, id, async (tx, row, now) => {
    await work(tx, row, now);
    return connectionFromRow(await existingConnection(tx, id), { config, json });
  });
}

/** Moves the waiting job; returns the changed keys of metadata.sync. */
async function newTimes(
  { config, ports }: Context,
  tx: Queryable,
  row: LockedConnection,
  now: Date,
  timetable: Timetable | undefined,
  baseSeconds: number,
): Promise<Record<string, unknown>> {
  const nowMs = now.getTime();
  const lastEndedMs = row.last_incremental_ended_at?.getTime();
  const waiting = await lockWaitingJob(tx, row.id);
  const pending = await pendingState(tx, row.id, waiting?.scheduled_at, nowMs);
  const random = ports.random();
  const jitterSeconds = sampleJitter(jitterRange(baseSeconds, config), random);
  const { nextRunAtMs, job } = timetable
    ? rescheduleBySchedule(pending, { timetable, lastEndedMs, bounds: config, random, nowMs })
    : reschedule({ pending, lastEndedMs, baseSeconds, jitterSeconds, nowMs });
  if (job && waiting) await moveJob(tx, now, waiting.id, new Date(job.scheduledAtMs));
  return {
    ...(nextRunAtMs !== undefined && { next_run_at: formatInstant(nextRunAtMs) }),
    ...(job && { last_jitter_seconds: (job.scheduledAtMs - job.slotMs) / 1000 }),
  };
}

async function pendingState(
  tx: Queryable,
  id: string,
  waitingUntil: Date | undefined,
  nowMs: number,
): Promise<PendingState> {
  if (waitingUntil && waitingUntil.getTime() > nowMs) return 'placed';
  return (await findPendingJob(tx, id)) ? 'under way' : 'none';
}

export function requireSchedule(input: ScheduleInput): Schedule {
  const { schedule, problem } = parseSchedule(input);
  if (!schedule) throw invalidArgument(problem);
  return schedule;
}

export function requireInterval(seconds: number, config: Config['scheduler']): void {
  if (!isAllowedInterval(seconds, config))
    throw invalidArgument({
      field: 'intervalSeconds',
      expected: allowedInterval(config),
      value: show(seconds),
    });
}

export function requireOnlyOne(intervalSeconds: unknown, schedule: unknown): void {
  if (intervalSeconds !== undefined && schedule !== undefined && schedule !== null)
    throw invalid('An interval and a schedule cannot be combined.', 'Remove one of them.');
}
