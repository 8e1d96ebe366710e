import type { Attention, Load, Overview, Series, SystemInfo } from '../api/index.ts';
import { iso } from '../api/index.ts';
import { isoTime } from '../values/time-text.ts';

type Count = Overview['connections']['total'];
const countJson = ({ count, atLeast }: Count) => ({ count, at_least: atLeast });

const queueJson = (queue: NonNullable<Overview['queue']>) => ({
  due: countJson(queue.due),
  backing_off: countJson(queue.backing_off),
  blocked: countJson(queue.blocked),
  running: countJson(queue.running),
});

export const overviewJson = ({ connections, ...overview }: Overview) => ({
  now: iso(overview.now),
  connections: {
    total: countJson(connections.total),
    ok: countJson(connections.ok),
    failing: countJson(connections.failing),
    needs_auth: countJson(connections.needs_auth),
    paused: countJson(connections.paused),
    disabled: countJson(connections.disabled),
  },
  queue: overview.queue ? queueJson(overview.queue) : null,
  last_tick_at: isoTime(overview.lastTickAt),
  executors: overview.executors ?? null,
  last_hour: overview.lastHour,
});

export const seriesJson = (series: Series) => ({
  from: iso(series.from),
  to: iso(series.to),
  step_seconds: series.stepSeconds,
  points: series.points.map((point) => ({
    at: iso(point.at),
    succeeded: point.succeeded,
    failed: point.failed,
    retried: point.retried,
    signals: point.signals,
    lag_p50_ms: point.lagP50Ms ?? null,
    lag_p95_ms: point.lagP95Ms ?? null,
    freshness_p50_seconds: point.freshnessP50Seconds ?? null,
    freshness_p95_seconds: point.freshnessP95Seconds ?? null,
  })),
});

export const loadJson = ({ minutes, estimated }: Load) => ({
  minutes: minutes.map(({ at, runs }) => ({ at: iso(at), runs })),
  estimated,
});

export const attentionJson = (item: Attention) => ({
  cause: item.cause,
  provider: item.provider ?? null,
  failure: item.failure ?? null,
  count: item.count,
  at_least: item.atLeast,
  since: isoTime(item.since),
  message: item.message ?? null,
  remedy: item.remedy,
  filter: item.filter ?? null,
});

export const systemJson = (system: SystemInfo, version: string) => ({
  version,
  node: system.node,
  schema: system.schema,
  schema_version: system.schemaVersion,
  processes: system.processes.map((process) => ({
    id: process.id,
    host: process.host ?? null,
    pid: process.pid ?? null,
    roles: [...process.roles],
    concurrency: process.concurrency ?? null,
    providers: [...process.providers],
    started_at: isoTime(process.startedAt),
    expires_at: isoTime(process.expiresAt),
    clock_skew_seconds: process.clockSkewSeconds,
    alive: process.alive,
    running: process.running,
  })),
  queue: queueJson(system.queue),
  tables: system.tables.map((table) => ({
    name: table.name,
    bytes: table.bytes,
    rows_estimate: table.rows_estimate,
    dead_rows_estimate: table.dead_rows_estimate,
    last_vacuum_at: isoTime(table.last_vacuum_at ?? undefined),
  })),
  database_bytes: system.databaseBytes,
  retention: {
    ended_jobs_days: system.retention.endedJobsDays,
    events_days: system.retention.eventsDays,
    signals_days: system.retention.signalsDays,
    stats_days: system.retention.statsDays,
  },
  config: system.config.map(({ path, value, about }) => ({ path, value, about })),
});
