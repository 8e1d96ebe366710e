import type { Config } from '../../config/settings.ts';
import { baseInterval } from '../../schedule/interval.ts';
import {
  type InvalidField,
  readSyncMetadata,
  type SyncMetadata,
  syncOf,
} from '../../schedule/sync-metadata.ts';
import type { ConnectionHealth, ConnectionRow, ConnectionStatus } from '../../store/connections.ts';

/** Parsed `metadata.sync`. Invalid fields count as absent and are listed in `invalid`. */
export interface ConnectionSync {
  /** The connection's own interval; undefined: the default applies. */
  intervalSeconds: number | undefined;
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
  /** Other connections of the tenant may share it. */
  credentialId: string | undefined;
  status: ConnectionStatus;
  /** Connector configuration; opaque to the engine. */
  config: Record<string, unknown>;
  createdAt: Date;
  updatedAt: Date;
  tenantName: string | undefined;
  providerName: string | undefined;
  health: ConnectionHealth;
  /** Start of the current series of failed runs, and the kind of the last failure. */
  failingSince: Date | undefined;
  failure: string | undefined;
  deletingSince: Date | undefined;
  /** Expected start of the next run: of the pending job, else `next_run_at`. */
  nextStartAt: Date | undefined;
  /** End of its latest incremental job. */
  lastEndedAt: Date | undefined;
  sync: ConnectionSync;
  /** Last runs, newest first; only in lists requested with `recent`. */
  recent?: RecentRun[];
}

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
