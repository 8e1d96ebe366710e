import type { Queryable } from './database.ts';

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

/** The maximum tick interval is five minutes. */
const staleAfterSeconds = 3600;

/** Also deletes stale schedulers. */
export async function recordTick(db: Queryable, row: SchedulerRow): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM ${db.schema}.schedulers WHERE ticked_at < $5::timestamptz - interval '${staleAfterSeconds} seconds')
     INSERT INTO ${db.schema}.schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (id) DO UPDATE SET ticked_at = excluded.ticked_at, tick_ms = excluded.tick_ms, scheduled = excluded.scheduled,
       clock_skew_seconds = excluded.clock_skew_seconds`,
    [
      row.id,
      row.host,
      row.pid,
      row.started_at,
      row.ticked_at,
      row.tick_ms,
      row.scheduled,
      row.clock_skew_seconds,
    ],
  );
}

export function findSchedulers(db: Queryable): Promise<SchedulerRow[]> {
  return db.query<SchedulerRow>(
    `SELECT id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds FROM ${db.schema}.schedulers ORDER BY started_at LIMIT 1000`,
  );
}

export async function lastTickAt(db: Queryable): Promise<Date | undefined> {
  const [row] = await db.query<{ at: Date | null }>(
    `SELECT max(ticked_at) AS at FROM ${db.schema}.schedulers`,
  );
  return row?.at ?? undefined;
}

export async function deleteScheduler(db: Queryable, id: string): Promise<void> {
  await db.query(`DELETE FROM ${db.schema}.schedulers WHERE id = $1`, [id]);
}
