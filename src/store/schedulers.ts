import { createHash } from 'node:crypto';
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

/** One row per host for ticks of short processes, such as cron jobs: a UUID of version 8, which names its content. */
export function cronSchedulerId(host: string): string {
  const hex = createHash('sha256').update(host).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}

export const isCronScheduler = ({ id }: Pick<SchedulerRow, 'id'>): boolean => id[14] === '8';

const recordTickSql = sql<object>`
  WITH gone AS (
    DELETE FROM :schema.schedulers
    WHERE ticked_at < :tickedAt::timestamptz - interval '${staleAfterSeconds} seconds' AND id <> :id)
  INSERT INTO :schema.schedulers
    (id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds)
  VALUES (:id, :host, :pid, :startedAt, :tickedAt, :tickMs, :scheduled, :clockSkewSeconds)
  ON CONFLICT (id) DO UPDATE
  SET ticked_at = excluded.ticked_at, tick_ms = excluded.tick_ms, scheduled = excluded.scheduled,
      clock_skew_seconds = excluded.clock_skew_seconds`;

/** Also deletes stale schedulers. */
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
  SELECT id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds FROM :schema.schedulers
  ORDER BY started_at LIMIT 1000`;

export function findSchedulers(db: Queryable): Promise<SchedulerRow[]> {
  return findSchedulersSql.all(db);
}

const lastTickAtSql = sql<{ at: Date | null }>`SELECT max(ticked_at) AS at FROM :schema.schedulers`;

export async function lastTickAt(db: Queryable): Promise<Date | undefined> {
  const row = await lastTickAtSql.first(db);
  return row?.at ?? undefined;
}

const deleteSchedulerSql = sql<object>`DELETE FROM :schema.schedulers WHERE id = :id`;

export async function deleteScheduler(db: Queryable, id: string): Promise<void> {
  await deleteSchedulerSql.all(db, { id });
}
