import type { AuditNote } from '../../caller/audit.ts';
import type { Page, PageRequest } from '../../caller/keyset.ts';
import type { TenantOwner } from '../../caller/tenant-owner.ts';
import type { Connector } from '../../contract/connector.ts';
import type { JobType } from '../../contract/states.ts';
import type { TriggerResult } from '../../pipeline/model.ts';
import type { Deletion } from '../../runtime/index.ts';
import type { ScheduleInput } from '../../schedule/schedule.ts';
import type { ConnectionFilter } from '../../store/connection-lists.ts';
import type { ConnectionEvent } from '../model.ts';
import type { Connection } from './model.ts';
import type { BulkStep, Explanation, RepairStep, SchedulePreview, StoredCursor } from './results.ts';

interface ConnectionFields {
  /** The account's id at the provider. */
  externalId?: string | undefined;
  /** A credential of the same tenant and provider. */
  credentialId?: string | undefined;
  /** Not together with `schedule`. */
  intervalSeconds?: number | undefined;
  /** Cron expression or times of day; null: by interval. */
  schedule?: ScheduleInput | null | undefined;
  metadata?: Record<string, unknown> | undefined;
}

type WithConfig<Provider, Config> = ConnectionFields &
  TenantOwner & {
    provider: Provider;
    /** Validated by the connector. */
    config: Config;
  };

type WithOptionalConfig<Provider, Config> = ConnectionFields &
  TenantOwner & {
    provider: Provider;
    /** Validated by the connector. */
    config?: Config | undefined;
  };

/** Input of `connections.create`, for any provider. */
export type NewConnection = WithOptionalConfig<string, Record<string, unknown>>;

/** `NewConnection` typed by the connectors. */
export type NewConnectionFor<C extends Connector> = [C] extends [never]
  ? NewConnection
  : C extends Connector<infer Provider, infer Config>
    ? string extends Provider
      ? NewConnection
      : unknown extends Config
        ? WithOptionalConfig<Provider, Record<string, unknown>>
        : Record<never, never> extends Config
          ? WithOptionalConfig<Provider, Fields<Config>>
          : WithConfig<Provider, Fields<Config>>
    : never;

/** Unlike an interface, assignable to `Record<string, unknown>`. */
type Fields<T> = { [Key in keyof T]: T[Key] };

/** Filter and page of `connections.list`. */
export interface ListedConnections extends ConnectionFilter, PageRequest {
  /** Adds the results of recent runs. */
  recent?: boolean | undefined;
}

/** Kind and priority of a manual sync. */
export interface TriggerRequest extends AuditNote {
  /** Default: `incremental`. */
  type?: JobType;
  priority?: number;
}

export const bulkActions = ['pause', 'resume', 'trigger', 'cancel', 'delete'] as const;
export type BulkAction = (typeof bulkActions)[number];

/** An action, and the connections it applies to. */
export interface BulkRequest extends PageRequest, AuditNote {
  action: BulkAction;
  filter: ConnectionFilter;
}

/** A step of `connections.repairSchedule`. */
export interface RepairRequest extends PageRequest, AuditNote {
  /** Reports what would change. */
  dryRun?: boolean | undefined;
}

/** Accounts at providers that are synced on a schedule. */
export interface ConnectionsApi<C extends Connector = Connector> {
  /**
   * Registers the provider if it has a connector. If that requires OAuth 2, a connection without a credential
   * starts as `needs_auth`.
   */
  create(input: NewConnectionFor<C>, note?: AuditNote): Promise<Connection>;

  /** Throws NOT_FOUND if invisible to the caller. */
  get(id: string): Promise<Connection>;

  /** By id, roughly the order of creation. */
  list(request?: ListedConnections): Promise<Page<Connection>>;

  /** Why it is or is not syncing, in a sentence. */
  explain(id: string): Promise<Explanation>;

  /** Time windows of the next runs: 1 to 100, default 5. */
  preview(id: string, options?: { runs?: number }): Promise<SchedulePreview>;

  /** Its latest events, newest first: 1 to 1000, default 20. */
  events(id: string, options?: { limit?: number }): Promise<ConnectionEvent[]>;

  /** Cursors stored by its runs, newest first, as long as ended jobs are kept. */
  cursors(id: string, request?: PageRequest): Promise<Page<StoredCursor>>;

  /** Queues a sync now, or brings a waiting job forward. Behind a running job, exactly one more is queued. */
  trigger(id: string, request?: TriggerRequest): Promise<TriggerResult>;

  /** Stops new runs until resumed. A current run may finish; cancel its job to end it. */
  pause(id: string, note?: AuditNote): Promise<Connection>;

  /**
   * Activates it from any status and releases its queued jobs. One in `needs_auth` syncs now. A paused or
   * disabled one that waits for its first consent returns to `needs_auth`.
   */
  resume(id: string, note?: AuditNote): Promise<Connection>;

  /** As `resume`; the first activation sets `first_activated_at`. */
  activate(id: string, note?: AuditNote): Promise<Connection>;

  /** Cancels its queued and running jobs and returns their ids. The connection stays active and scheduled. */
  cancel(id: string, note?: AuditNote): Promise<string[]>;

  /**
   * Sets the cursor: one stored by a job, or any value; null is the beginning. A running job is requeued
   * without storing its results.
   */
  rewind(id: string, to: { jobId: string } | { cursor: unknown }, note?: AuditNote): Promise<Connection>;

  /** Sets the interval, from 60 seconds, and reschedules the next run. Ends a schedule. */
  setInterval(id: string, intervalSeconds: number, note?: AuditNote): Promise<Connection>;

  /** Restores the default interval. Ends a schedule. */
  clearInterval(id: string, note?: AuditNote): Promise<Connection>;

  /**
   * Runs it by cron expression or at times of day, from the next occurrence on; null returns to the interval.
   */
  setSchedule(id: string, schedule: ScheduleInput | null, note?: AuditNote): Promise<Connection>;

  /** Replaces the connector configuration from the next run on. */
  setConfig(id: string, config: Record<string, unknown>, note?: AuditNote): Promise<Connection>;

  /** Sets the credential; null removes it. A connection in `needs_auth` becomes active. */
  setCredential(id: string, credentialId: string | null, note?: AuditNote): Promise<Connection>;

  /**
   * Deletes it with its jobs, signals and unshared credential; audit events stay. A large connection is
   * disabled and deleted in the background; see `deletion`. Another call continues the deletion.
   */
  delete(id: string, note?: AuditNote): Promise<Deletion>;

  /** Progress of its deletion, kept for a week after the end. */
  deletion(id: string): Promise<Deletion>;

  /** Applies an action to all matching connections in bounded steps. */
  bulk(request: BulkRequest): Promise<BulkStep>;

  /** Reschedules runs that are too far ahead, in bounded steps. */
  repairSchedule(request?: RepairRequest): Promise<RepairStep>;
}

/** Bulk actions use them with a shorter lock timeout. */
export type ConnectionControl = Pick<
  ConnectionsApi,
  'trigger' | 'pause' | 'resume' | 'cancel' | 'rewind' | 'delete' | 'deletion' | 'explain' | 'events'
>;
