import { z } from 'zod';
import type { ProcessRow } from '../store/processes.ts';
import type { SchedulerRow } from '../store/schedulers.ts';
import type { TableRow } from '../store/stats.ts';
import { jsonOf, maybe, maybeText, maybeTime, time, uuid } from '../values/model.ts';

const count = z
  .object({
    count: z.int(),
    atLeast: z.boolean().meta({ description: 'True if counting stopped at `count` and there are more.' }),
  })
  .meta({ id: 'Count' });

const queue = z
  .object({ due: count, backingOff: count, blocked: count, running: count })
  .meta({ id: 'Queue' });

const totals = z.object({ succeeded: z.int(), failed: z.int(), retried: z.int(), signals: z.int() });
/** Ended runs by outcome, and stored signals. */
export interface Totals extends z.output<typeof totals> {}

const overview = z
  .object({
    now: time,
    connections: z.object({
      total: count,
      ok: count,
      failing: count,
      needsAuth: count,
      paused: count,
      disabled: count,
    }),
    queue: maybe(queue).meta({ description: 'Null for tenant keys.' }),
    lastTickAt: maybeTime,
    maxTickAgeSeconds: z
      .int()
      .meta({ description: 'An older `last_tick_at` means that scheduling has stopped.' }),
    executors: maybe(z.object({ alive: z.int(), slots: z.int() })),
    lastHour: totals,
  })
  .meta({ id: 'Overview' });
/** The current state of connections, queue and executors. */
export interface Overview extends z.output<typeof overview> {}

export const overviewJson = jsonOf(overview);

const seriesPoint = totals.extend({
  at: time,
  lagP50Ms: maybe(z.number()),
  lagP95Ms: maybe(z.number()),
  freshnessP50Seconds: maybe(z.number()),
  freshnessP95Seconds: maybe(z.number()),
});
/** Totals, lag and freshness of one step. */
export interface SeriesPoint extends z.output<typeof seriesPoint> {}

const series = z
  .object({ from: time, to: time, stepSeconds: z.int(), points: z.array(seriesPoint) })
  .meta({ id: 'Series' });
/** Totals over time, for charts. */
export interface Series extends z.output<typeof series> {}

export const seriesJson = jsonOf(series);

const load = z
  .object({
    minutes: z.array(z.object({ at: time, runs: z.number() })),
    estimated: z.boolean().meta({ description: 'Extrapolated from a sample.' }),
  })
  .meta({ id: 'Load' });
/** Expected runs per minute of the next hour. */
export interface Load extends z.output<typeof load> {}

export const loadJson = jsonOf(load);

const attention = z
  .object({
    cause: z.enum(['needs_auth', 'failing', 'overdue', 'too_far_ahead', 'unserved']),
    provider: maybeText,
    failure: maybeText,
    count: z.int(),
    atLeast: z.boolean(),
    since: maybeTime,
    message: maybeText.meta({ description: 'Last error of one affected connection.' }),
    remedy: z.string(),
    filter: maybe(z.object({ health: z.enum(['needs_auth', 'failing']), provider: z.string() })).meta({
      description: 'Filter for `GET /v1/connections` that lists the affected connections.',
    }),
  })
  .meta({ id: 'AttentionItem' });
/** A cause of failing or overdue connections, with its remedy. */
export interface AttentionItem extends z.output<typeof attention> {}

export const attentionJson = jsonOf(z.object({ items: z.array(attention) }).meta({ id: 'AttentionList' }));

const process = z.object({
  id: uuid,
  host: maybeText,
  pid: maybe(z.int()),
  roles: z.array(z.enum(['executor', 'scheduler'])),
  concurrency: maybe(z.int()),
  providers: z.array(z.string()),
  startedAt: time,
  expiresAt: maybeTime,
  tickedAt: maybeTime.meta({ description: 'Last tick of a scheduler.' }),
  alive: z.boolean(),
  running: z.int(),
  clockSkewSeconds: z.int().meta({ description: 'Clock difference to the database; positive: ahead.' }),
});
/** A registered executor or scheduler. */
export interface ProcessInfo extends z.output<typeof process> {}

export const executorFromRow = (row: ProcessRow, running: number): ProcessInfo => ({
  id: row.id,
  host: row.host ?? undefined,
  pid: row.pid ?? undefined,
  roles: ['executor'],
  concurrency: row.concurrency,
  providers: row.providers,
  startedAt: row.started_at,
  expiresAt: row.expires_at,
  tickedAt: undefined,
  alive: row.alive,
  running,
  clockSkewSeconds: row.clock_skew_seconds,
});

export const schedulerFromRow = (row: SchedulerRow, alive: boolean): ProcessInfo => ({
  id: row.id,
  host: row.host,
  pid: row.pid,
  roles: ['scheduler'],
  concurrency: undefined,
  providers: [],
  startedAt: row.started_at,
  expiresAt: undefined,
  tickedAt: row.ticked_at,
  alive,
  running: 0,
  clockSkewSeconds: row.clock_skew_seconds,
});

const table = z.object({
  name: z.string(),
  bytes: z.number(),
  rowsEstimate: z.number(),
  deadRowsEstimate: z.number(),
  lastVacuumAt: maybeTime,
});
/** Size and vacuum state of a table. */
export interface TableInfo extends z.output<typeof table> {}

export const tableFromRow = (row: TableRow): TableInfo => ({
  name: row.name,
  bytes: row.bytes,
  rowsEstimate: row.rows_estimate,
  deadRowsEstimate: row.dead_rows_estimate,
  lastVacuumAt: row.last_vacuum_at ?? undefined,
});

const system = z.object({
  node: z.string(),
  schema: z.string(),
  schemaVersion: z.int(),
  processes: z.array(process),
  queue,
  tables: z.array(table),
  databaseBytes: z.number(),
  retention: z.object({
    endedJobsDays: z.int(),
    eventsDays: z.int(),
    signalsDays: z.int(),
    statsDays: z.int(),
  }),
  config: z
    .array(z.object({ path: z.string(), value: z.string(), about: z.string() }))
    .meta({ description: 'Effective values; secrets are masked.' }),
});
/** Processes, queue, tables and effective settings. */
export interface SystemInfo extends z.output<typeof system> {}

export const systemJson = jsonOf(system.extend({ version: z.string() }).meta({ id: 'SystemInfo' }));
