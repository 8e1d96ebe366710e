import { invalid, requireOneOf, requireUuid, requireWhole } from './checks.ts';
import type { Config } from './config/settings.ts';
import type { Connector } from './connector.ts';
import { createControl } from './control.ts';
import { SynclineError } from './errors.ts';
import { mostListed } from './jobs.ts';
import type { Ports } from './ports.ts';
import { formatInstant } from './schedule/instant.ts';
import { baseInterval, isAllowedInterval } from './schedule/interval.ts';
import { jitterRange, sampleJitter } from './schedule/jitter.ts';
import { previewRuns } from './schedule/preview.ts';
import { type PendingState, reschedule } from './schedule/reschedule.ts';
import {
  allowedInterval,
  type InvalidField,
  readSyncMetadata,
  type SyncMetadata,
  syncOf,
} from './schedule/sync-metadata.ts';
import {
  activateConnection,
  type ConnectionRow,
  type ConnectionStatus,
  findConnection,
  insertConnection,
  listConnections,
  lockConnection,
  writeSync,
} from './store/connections.ts';
import type { Database, Queryable } from './store/database.ts';
import { findPendingJob, lockWaitingJob, moveJob } from './store/jobs.ts';
import { upsertProvider } from './store/providers.ts';

/** What `metadata.sync` of a connection says. A wrong field counts as absent and is listed in `invalid`. */
export interface ConnectionSync {
  /** The connection's own interval; undefined where it has none and the default holds. */
  intervalSeconds: number | undefined;
  /** The interval in force. */
  baseIntervalSeconds: number;
  nextRunAt: Date | undefined;
  firstActivatedAt: Date | undefined;
  lastJitterSeconds: number | undefined;
  cursor: unknown;
  invalid: InvalidField[];
}

export interface Connection {
  id: string;
  tenantId: string;
  provider: string;
  externalId: string | undefined;
  status: ConnectionStatus;
  /** What its connector is told; the engine only hands it over. */
  config: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
  /** When its latest incremental job ended. */
  lastEndedAt: Date | undefined;
  sync: ConnectionSync;
}

/** The window in which a run is expected to start. */
export interface PreviewedRun {
  earliest: Date;
  latest: Date;
}

export interface SchedulePreview {
  connection: Connection;
  /** Whether a job for the first of the runs is already queued or running. */
  pending: 'queued' | 'running' | undefined;
  /** Empty while the connection is not active. */
  runs: PreviewedRun[];
}

export type Connections = ReturnType<typeof createConnections>;

const connectionStatuses = ['active', 'paused', 'needs_auth', 'disabled'] as const;

/** The most runs a preview gives: beyond it, the windows of jitter say nothing any more. */
const mostPreviewedRuns = 100;

export function createConnections({
  db,
  config,
  ports,
  connectors,
}: {
  db: Database;
  config: Config['scheduler'];
  ports: Ports;
  connectors: ReadonlyMap<string, Connector>;
}) {
  return {
    ...createControl({ db, config, ports }),

    /** A provider that has a connector here is registered by the way. */
    async create(input: {
      tenantId: string;
      provider: string;
      externalId?: string;
      intervalSeconds?: number;
      config?: Record<string, unknown>;
      metadata?: Record<string, unknown>;
    }): Promise<Connection> {
      requireUuid('tenantId', input.tenantId);
      if (input.intervalSeconds !== undefined) requireInterval(input.intervalSeconds, config);
      const now = new Date(ports.now());
      const id = ports.newId();
      const sync = {
        ...syncOf(input.metadata),
        first_activated_at: now.toISOString(),
        ...(input.intervalSeconds !== undefined && { interval_seconds: input.intervalSeconds }),
      };
      const connector = connectors.get(input.provider);
      if (connector)
        await upsertProvider(db, now, { slug: input.provider, displayName: connector.name, authType: null });
      await insertConnection(db, now, {
        id,
        tenantId: input.tenantId,
        provider: input.provider,
        externalId: input.externalId ?? null,
        status: 'active',
        metadata: { ...input.metadata, sync },
        config: input.config ?? {},
      });
      return toConnection(await existing(db, id), config);
    },

    /** Reads a connection, with what its metadata says of its schedule. */
    async get(id: string): Promise<Connection> {
      return toConnection(await existing(db, id), config);
    },

    /** Connections in the order of their ids, which is about the order in which they were made. */
    async list(
      filter: {
        tenantId?: string;
        provider?: string;
        status?: ConnectionStatus;
        /** Goes on after the connection with this id. */
        after?: string;
        limit?: number;
      } = {},
    ): Promise<Connection[]> {
      const { limit = 20, ...rest } = filter;
      requireWhole('limit', limit, 1, mostListed);
      if (rest.tenantId !== undefined) requireUuid('tenantId', rest.tenantId);
      if (rest.after !== undefined) requireUuid('after', rest.after);
      if (rest.status !== undefined) requireOneOf('status', rest.status, connectionStatuses);
      const rows = await listConnections(db, { ...rest, limit });
      return rows.map((row) => toConnection(row, config));
    },

    /** Sets the connection's own interval and re-places its next run accordingly. */
    async setInterval(id: string, intervalSeconds: number): Promise<Connection> {
      requireInterval(intervalSeconds, config);
      return changeInterval(id, intervalSeconds);
    },

    /** Goes back to the default interval and re-places the next run accordingly. */
    async clearInterval(id: string): Promise<Connection> {
      return changeInterval(id, null);
    },

    /** Makes a connection active; the first time sets `first_activated_at`. */
    async activate(id: string): Promise<Connection> {
      requireUuid('connection', id);
      const nowMs = ports.now();
      if (!(await activateConnection(db, new Date(nowMs), id, formatInstant(nowMs)))) throw noConnection(id);
      return toConnection(await existing(db, id), config);
    },

    /** When the next runs are expected, as things stand. */
    async preview(id: string, { runs = 5 }: { runs?: number } = {}): Promise<SchedulePreview> {
      requireWhole('runs', runs, 1, mostPreviewedRuns);
      const connection = toConnection(await existing(db, id), config);
      const pending = await findPendingJob(db, id);
      if (connection.status !== 'active') return { connection, pending: pending?.status, runs: [] };
      const windows = previewRuns(
        {
          lastEndedMs: connection.lastEndedAt?.getTime(),
          nextRunAtMs: connection.sync.nextRunAt?.getTime(),
          pendingAtMs: pending?.scheduled_at.getTime(),
          baseSeconds: connection.sync.baseIntervalSeconds,
          jitter: config,
          tickIntervalSeconds: config.tickIntervalSeconds,
          nowMs: ports.now(),
        },
        runs,
      );
      return {
        connection,
        pending: pending?.status,
        runs: windows.map(({ earliestMs, latestMs }) => ({
          earliest: new Date(earliestMs),
          latest: new Date(latestMs),
        })),
      };
    },
  };

  async function changeInterval(id: string, intervalSeconds: number | null): Promise<Connection> {
    requireUuid('connection', id);
    const nowMs = ports.now();
    const now = new Date(nowMs);
    return db.transaction(async (tx) => {
      const row = await lockConnection(tx, id);
      if (!row) throw noConnection(id);
      const waiting = await lockWaitingJob(tx, id);
      const baseSeconds = intervalSeconds ?? config.defaultIntervalSeconds;
      const jitterSeconds = sampleJitter(jitterRange(baseSeconds, config), ports.random());
      const { nextRunAtMs, job } = reschedule({
        pending: await pendingState(tx, id, waiting?.scheduled_at, nowMs),
        lastEndedMs: row.last_incremental_ended_at?.getTime(),
        baseSeconds,
        jitterSeconds,
        nowMs,
      });
      if (job && waiting) await moveJob(tx, now, waiting.id, new Date(job.scheduledAtMs));
      const keys = {
        ...(intervalSeconds !== null && { interval_seconds: intervalSeconds }),
        ...(nextRunAtMs !== undefined && { next_run_at: formatInstant(nextRunAtMs) }),
        ...(job && { last_jitter_seconds: jitterSeconds }),
      };
      await writeSync(tx, now, id, keys, intervalSeconds === null ? 'interval_seconds' : undefined);
      return toConnection(await existing(tx, id), config);
    });
  }
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

async function existing(db: Queryable, id: string): Promise<ConnectionRow> {
  requireUuid('connection', id);
  const row = await findConnection(db, id);
  if (!row) throw noConnection(id);
  return row;
}

function readSync(row: ConnectionRow, config: Config['scheduler']): SyncMetadata {
  return readSyncMetadata(syncOf(row.metadata), config);
}

function toConnection(row: ConnectionRow, config: Config['scheduler']): Connection {
  const sync = readSync(row, config);
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    externalId: row.external_id ?? undefined,
    status: row.status,
    config: row.config as Record<string, unknown>,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastEndedAt: row.last_incremental_ended_at ?? undefined,
    sync: {
      intervalSeconds: sync.intervalSeconds,
      baseIntervalSeconds: baseInterval(sync.intervalSeconds, config),
      nextRunAt: toDate(sync.nextRunAtMs),
      firstActivatedAt: toDate(sync.firstActivatedAtMs),
      lastJitterSeconds: sync.lastJitterSeconds,
      cursor: syncOf(row.metadata)['cursor'],
      invalid: sync.invalid,
    },
  };
}

const toDate = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms));

function requireInterval(seconds: number, config: Config['scheduler']): void {
  if (!isAllowedInterval(seconds, config))
    throw invalid(`intervalSeconds is ${seconds}; it must be ${allowedInterval(config)}.`);
}

function noConnection(id: string): SynclineError {
  return new SynclineError('NOT_FOUND', `There is no connection ${id}.`);
}
