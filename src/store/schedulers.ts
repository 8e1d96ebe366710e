import { createHash } from 'node:crypto';
import { maxNameLength } from '../values/limits.ts';
import type { Queryable } from './database.ts';
import { sql } from './sql.ts';

export interface SchedulerRow {
  id: string;
  host: string;
  pid: number;
  started_at: Date;
  ticked_at: Date;
  tick_ms: number;
  scheduled: number;
  /** Positive: its clock is ahead. */
  clock_skew_seconds: number;
}

/** Ticks are at most five minutes apart. */
const staleAfterSeconds = 3600;

/** One row per host for short processes (cron): a version 8 UUID of its name. */
export function cronSchedulerId(host: string): string {
  const hex = createHash('sha256').update(host).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}

const isCommand = ({ id }: Pick<SchedulerRow, 'id'>): boolean => id[14] === '8';

/** A restart misses one or two ticks. */
export const maxTickAgeSeconds = (tickIntervalSeconds: number): number => 3 * tickIntervalSeconds;

export interface TickState {
  lastAt: Date | undefined;
  /** `command`: `syncline tick` or `tick()`, too rarely for cron. */
  source: 'process' | 'cron' | 'command';
  /** After this age, scheduling has stopped. */
  maxAgeSeconds: number;
}

/**
 * Short processes count as cron if their ticks span more than the allowed age and no scheduler ticked within
 * the hour: one manual tick must not hide a stopped scheduler.
 */
export function tickStateOf(
  rows: readonly SchedulerRow[],
  now: Date,
  tickIntervalSeconds: number,
): TickState {
  const maxAgeSeconds = maxTickAgeSeconds(tickIntervalSeconds);
  const isWithin = (seconds: number) => (row: SchedulerRow) =>
    row.ticked_at.getTime() > now.getTime() - seconds * 1000;
  const recent = rows.filter(isWithin(staleAfterSeconds));
  const commands = recent.filter(isCommand);
  const processes = recent.filter((row) => !isCommand(row));
  const state = { lastAt: latest(rows), source: 'process', maxAgeSeconds } as const;
  const lastCommandAt = latest(commands);
  if (!lastCommandAt || processes.some(isWithin(maxAgeSeconds))) return state;
  const firstMs = Math.min(...commands.map(({ started_at }) => started_at.getTime()));
  const isCron = processes.length === 0 && lastCommandAt.getTime() - firstMs >= maxAgeSeconds * 1000;
  return isCron
    ? { ...state, source: 'cron', maxAgeSeconds: staleAfterSeconds }
    : { ...state, source: 'command' };
}

function latest(rows: readonly SchedulerRow[]): Date | undefined {
  return rows.map(({ ticked_at }) => ticked_at).sort((a, b) => b.getTime() - a.getTime())[0];
}

const recordTickSql = sql<object>`
  WITH gone AS (
    DELETE FROM :schema.schedulers
    WHERE ticked_at < :tickedAt::timestamptz - interval '${staleAfterSeconds} seconds' AND id <> :id)
  INSERT INTO :schema.schedulers
    (id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds)
  VALUES (:id, :host, :pid, :startedAt, :tickedAt, :tickMs, :scheduled, :clockSkewSeconds)
  ON CONFLICT (id) DO UPDATE
  SET started_at = CASE
        WHEN schedulers.ticked_at < excluded.ticked_at - interval '${staleAfterSeconds} seconds'
        THEN excluded.started_at ELSE schedulers.started_at END,
      ticked_at = excluded.ticked_at, tick_ms = excluded.tick_ms, scheduled = excluded.scheduled,
      clock_skew_seconds = excluded.clock_skew_seconds`;

export async function recordTick(db: Queryable, row: SchedulerRow): Promise<void> {
  await recordTickSql.all(db, {
    id: row.id,
    host: row.host,
    pid: row.pid,
    startedAt: row.started_at,
    tickedAt: row.ticked_at,
    tickMs: row.tick_ms,
    scheduled: row.scheduled,
    clockSkewSeconds: row.clock_skew_seconds,
  });
}

const findSchedulersSql = sql<SchedulerRow>`
  SELECT id, left(host, ${maxNameLength}) AS host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds
  FROM :schema.schedulers ORDER BY ticked_at DESC LIMIT 1000`;

export function findSchedulers(db: Queryable): Promise<SchedulerRow[]> {
  return findSchedulersSql.all(db);
}

const deleteSchedulerSql = sql<object>`DELETE FROM :schema.schedulers WHERE id = :id`;

export async function deleteScheduler(db: Queryable, id: string): Promise<void> {
  await deleteSchedulerSql.all(db, { id });
}
