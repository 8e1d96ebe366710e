import type { IntervalBounds } from '../schedule/interval.ts';
import {
  type InvalidField,
  invalidField,
  readSyncTexts,
  type SyncMetadata,
} from '../schedule/sync-metadata.ts';
import { readTimetable, type Timetable } from '../schedule/timetable.ts';
import { type DuePosition, type DueRow, lockDue } from '../store/connections.ts';
import type { Queryable } from '../store/database.ts';

/** Locked. */
export interface DueConnection {
  id: string;
  isOverdue: boolean;
  tenantId: string;
  providerSlug: string;
  createdMs: number;
  lastEndedMs: number | undefined;
  sync: SyncMetadata;
  /** Instead of the interval. */
  timetable: Timetable | undefined;
}

export async function takeDue(
  tx: Queryable,
  query: {
    nowMs: number;
    tickIntervalSeconds: number;
    after: DuePosition | undefined;
    limit: number;
    bounds: IntervalBounds;
  },
): Promise<{ due: DueConnection[]; last: DuePosition | undefined; writesDueAt: boolean }> {
  // SCH-2: one tick ahead.
  const horizon = new Date(query.nowMs + query.tickIntervalSeconds * 1000);
  const rows = await lockDue(tx, {
    now: new Date(query.nowMs),
    horizon,
    after: query.after,
    limit: query.limit,
  });
  const due = rows.map((row) => ({
    id: row.id,
    isOverdue: row.is_overdue,
    tenantId: row.tenant_id,
    providerSlug: row.provider_slug,
    createdMs: row.created_ms,
    lastEndedMs: row.last_ended_ms ?? undefined,
    ...readRow(row, query.bounds),
  }));
  return { due, last: rows.at(-1), writesDueAt: rows[0]?.writes_due_at ?? true };
}

function readRow(row: DueRow, bounds: IntervalBounds): Pick<DueConnection, 'sync' | 'timetable'> {
  const sync = readSyncTexts(row, bounds);
  const { timetable, invalid: schedule } = readTimetable(row.schedule);
  const more = [wrongShape(row), schedule].filter((field) => field !== undefined);
  return { sync: more.length > 0 ? { ...sync, invalid: [...more, ...sync.invalid] } : sync, timetable };
}

function wrongShape({ metadata_type, sync_type }: DueRow): InvalidField | undefined {
  const isWrong = (type: string | null) => type !== null && type !== 'null' && type !== 'object';
  if (isWrong(metadata_type)) return invalidField('metadata', `(${metadata_type})`, 'an object');
  if (isWrong(sync_type)) return invalidField('metadata.sync', `(${sync_type})`, 'an object');
  return undefined;
}
