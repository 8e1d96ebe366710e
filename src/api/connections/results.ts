import { z } from 'zod';
import type { CursorRow } from '../../store/job-history.ts';
import { jsonOf, maybe, maybeText, maybeTime, time, uuid } from '../../values/model.ts';
import type { ReadJson } from '../../values/stored-json.ts';
import type { Connection } from './model.ts';

const explanation = z
  .object({
    state: z.enum([
      'paused',
      'needs_auth',
      'disabled',
      'running',
      'backing_off',
      'waiting',
      'unserved',
      'scheduled',
      'unplaced',
    ]),
    sentence: z.string(),
    nextRunAt: maybeTime,
  })
  .meta({ id: 'Explanation' });
/** Why a connection is or is not syncing. */
export interface Explanation extends z.output<typeof explanation> {}

export const explanationJson = jsonOf(explanation);

const runWindow = z.object({ earliest: time, latest: time }).meta({ id: 'RunWindow' });
/** Time window of an expected start. */
export interface RunWindow extends z.output<typeof runWindow> {}

const schedule = z
  .object({
    pending: maybe(z.enum(['queued', 'running'])).meta({
      description: 'Status of the job for the first run, if it is already queued.',
    }),
    runs: z.array(runWindow).meta({ description: 'Empty while the connection is not active.' }),
  })
  .meta({ id: 'SchedulePreview' });
/** When the next runs of a connection are expected. */
export interface SchedulePreview extends z.output<typeof schedule> {
  connection: Connection;
}

export const scheduleJson = jsonOf(schedule);

const storedCursor = z
  .object({
    jobId: uuid,
    at: time,
    cursor: z.unknown().meta({ description: 'The cursor returned by the connector.' }),
    current: z.boolean().meta({ description: "Whether it is the connection's current cursor." }),
  })
  .meta({ id: 'StoredCursor' });
/** A cursor stored by a run, to rewind to. */
export interface StoredCursor extends z.output<typeof storedCursor> {}

export const cursorJson = jsonOf(storedCursor);

export const cursorFromRow = (row: CursorRow, json: ReadJson): StoredCursor => ({
  jobId: row.id,
  at: row.at,
  cursor: json(row.next_cursor),
  current: row.current,
});

const bulkStep = z.object({
  matched: z.int(),
  changed: z.int(),
  failed: z.array(z.object({ id: uuid, message: z.string() })),
  nextCursor: maybeText.meta({
    description: 'Cursor of the next step; null after the last match.',
  }),
});
/** The result of one step of `connections.bulk`. */
export interface BulkStep extends z.output<typeof bulkStep> {}

export const bulkJson = jsonOf(
  bulkStep,
  bulkStep.extend({ failed: z.array(z.object({ id: uuid, detail: z.string() })) }).meta({ id: 'BulkStep' }),
  { failed: ({ failed }) => failed.map(({ id, message }) => ({ id, detail: message })) },
);

const repaired = z.object({
  id: uuid,
  tenantId: uuid,
  provider: z.string(),
  nextRunAt: maybe(z.object({ from: time, to: time })).meta({ description: 'Null if unchanged.' }),
  jobIds: z.array(uuid).meta({ description: 'Queued jobs that were rescheduled.' }),
});
/** What a schedule repair changed, or would change. */
export interface RepairedConnection extends z.output<typeof repaired> {}

const repairStep = z.object({
  items: z.array(repaired),
  skipped: z.int().meta({ description: 'Connections locked by another transaction; call again.' }),
  nextCursor: maybeText.meta({
    description: 'Cursor of the next step; null after the last connection.',
  }),
});
/** The result of one step of `connections.repairSchedule`. */
export interface RepairStep extends z.output<typeof repairStep> {}

const { id: connectionId, ...repairedFields } = repaired.shape;

export const repairJson = jsonOf(
  repairStep,
  repairStep
    .extend({ items: z.array(z.object({ connectionId, ...repairedFields })) })
    .meta({ id: 'RepairStep' }),
  { items: ({ items }) => items.map((item) => ({ ...item, connectionId: item.id })) },
);
