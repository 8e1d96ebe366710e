import type { Config } from '../../config/settings.ts';
import { baseInterval } from '../../schedule/interval.ts';
import {
  type InvalidField,
  readSyncMetadata,
  type SyncMetadata,
  syncOf,
} from '../../schedule/sync-metadata.ts';
import type { ConnectionHealth, ConnectionRow, ConnectionStatus } from '../../store/connections.ts';

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
  /** What opens the provider for it; other connections of the tenant may share it. */
  credentialId: string | undefined;
  status: ConnectionStatus;
  /** What its connector is told; the engine only hands it over. */
  config: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
  tenantName: string | undefined;
  providerName: string | undefined;
  health: ConnectionHealth;
  /** Since when every run has failed, and of what kind the last failure was. */
  failingSince: Date | undefined;
  failure: string | undefined;
  /** Since when it is being deleted. */
  deletingSince: Date | undefined;
  /** When its next run is expected to start: that of its pending job, else when the scheduler will place one. */
  nextStartAt: Date | undefined;
  /** When its latest incremental job ended. */
  lastEndedAt: Date | undefined;
  sync: ConnectionSync;
  /** Its last runs, newest first, in lists that were asked for them. */
  recent?: RecentRun[];
}

/** A run in short. */
export interface RecentRun {
  jobId: string;
  status: string;
  endedAt: Date;
  durationMs: number | undefined;
  signals: number;
}

export function readSync(row: Pick<ConnectionRow, 'metadata'>, config: Config['scheduler']): SyncMetadata {
  return readSyncMetadata(syncOf(row.metadata), config);
}

/** A connection as callers see it. */
export function toConnection(row: ConnectionRow, config: Config['scheduler']): Connection {
  const sync = readSync(row, config);
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    externalId: row.external_id ?? undefined,
    credentialId: row.credential_id ?? undefined,
    status: row.status,
    config: row.config as Record<string, unknown>,
    tenantName: row.tenant_name ?? undefined,
    providerName: row.provider_name ?? undefined,
    health: row.status !== 'active' ? row.status : row.failing_since ? 'failing' : 'ok',
    failingSince: row.failing_since ?? undefined,
    failure: row.failure ?? undefined,
    deletingSince: row.deleting_since ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    nextStartAt: row.status === 'active' ? (row.pending_at ?? toDate(sync.nextRunAtMs)) : undefined,
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
