import { type BudgetsApi, createBudgets } from '../budgets/index.ts';
import { recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import type { Config } from '../config/settings.ts';
import type { Connector } from '../contract/connector.ts';
import {
  type CredentialsApi,
  createAuthorize,
  createCredentialStore,
  type Vault,
} from '../credentials/index.ts';
import {
  type ConsumersApi,
  createConsumers,
  createFeed,
  createSignals,
  type FeedReader,
  type FeedWatch,
  type SignalsApi,
} from '../feed/index.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import type { ReadJson } from '../values/stored-json.ts';
import { createWebhooks, type WebhooksApi } from '../webhooks/index.ts';
import { createKeys, type KeysApi } from './access.ts';
import { type AuditApi, createAudit } from './audit.ts';
import type { ConnectionsApi } from './connections/api.ts';
import { createConnections } from './connections/index.ts';
import { createRepair } from './connections/repair.ts';
import { type ExplainError, withDatabaseErrors, withDatabaseErrorsEach } from './database-errors.ts';
import { createJobs, type JobsApi } from './jobs/index.ts';
import { createProviders, createTenants, type ProvidersApi, type TenantsApi } from './registry.ts';
import { createStats, type StatsApi } from './stats.ts';
import type { SystemInfo } from './stats-model.ts';
import { createSystem } from './system.ts';

export interface ApiContext {
  db: Database;
  ports: Ports;
  caller: Caller;
  config: Config;
  connectors: ReadonlyMap<string, Connector>;
  vault: Vault;
  reader: FeedReader;
  watch: FeedWatch;
  /** Converts stored JSON: payloads, configs, cursors, event details. */
  json: ReadJson;
  continueDeletions: () => void;
  /** Aborts when the instance stops. */
  stopping: AbortSignal;
  explain: ExplainError;
}

/** The API of one caller: a tenant, limited to its own data, or the operator. */
export interface SynclineApi<C extends Connector = Connector> {
  /** Tenant and audit name. */
  readonly caller: Caller;
  /** Customers, the owners of connections. */
  readonly tenants: TenantsApi;
  /** Services that connections sync from. */
  readonly providers: ProvidersApi;
  /** Accounts to sync: schedule, config, state, repair. */
  readonly connections: ConnectionsApi<C>;
  /** Encrypted secrets of connections. */
  readonly credentials: CredentialsApi;
  /** Queued, running and finished syncs. */
  readonly jobs: JobsApi;
  /** Stored signals: lists and the feed. */
  readonly signals: SignalsApi<C>;
  /** Stored feed positions. */
  readonly consumers: ConsumersApi;
  /** Totals, series and what needs attention. */
  readonly stats: StatsApi;
  /** Providers' rate limits and remaining requests. */
  readonly budgets: BudgetsApi;
  /** Log of changes and logins. */
  readonly audit: AuditApi;
  /** API keys. */
  readonly keys: KeysApi;
  /** Webhook secrets of connections. */
  readonly webhooks: WebhooksApi;
  /** Processes, queue, tables and configuration. Operators only. */
  system(): Promise<SystemInfo>;
}

export function createApi(context: ApiContext): SynclineApi {
  const { db, ports, caller, config, explain } = context;
  const record = recorder(ports, caller);
  const shared = { ...context, record };
  const feed = createFeed(context);
  return {
    caller,
    tenants: withDatabaseErrors(createTenants(shared), explain),
    providers: withDatabaseErrors(createProviders(shared), explain),
    connections: withDatabaseErrors(
      { ...createConnections({ ...shared, config: config.scheduler }), ...createRepair(shared) },
      explain,
    ),
    credentials: withDatabaseErrors(
      { ...createCredentialStore(shared), authorize: createAuthorize({ ...context, config: config.server }) },
      explain,
    ),
    jobs: withDatabaseErrors(createJobs(shared), explain),
    signals: {
      ...withDatabaseErrors({ ...createSignals(context), read: feed.read }, explain),
      feed: (options) => withDatabaseErrorsEach(feed.feed(options), explain),
    },
    consumers: withDatabaseErrors(createConsumers(shared), explain),
    stats: withDatabaseErrors(createStats({ db, caller, config }), explain),
    budgets: withDatabaseErrors(createBudgets(shared), explain),
    audit: withDatabaseErrors(createAudit(shared), explain),
    keys: withDatabaseErrors(createKeys(shared), explain),
    webhooks: withDatabaseErrors(createWebhooks(shared), explain),
    ...withDatabaseErrors({ system: createSystem({ db, caller, config }) }, explain),
  };
}

export { type TriggerResult, triggerJson } from '../pipeline/model.ts';
export { type Access, createAccess, type Identity, type KeysApi, type Refused } from './access.ts';
export type { AuditApi, ListedEvents } from './audit.ts';
export {
  type BulkAction,
  type BulkRequest,
  bulkActions,
  type ConnectionsApi,
  type ListedConnections,
  type NewConnection,
  type NewConnectionFor,
  type RepairRequest,
  type TriggerRequest,
} from './connections/api.ts';
export { type Connection, type ConnectionSync, connectionJson } from './connections/model.ts';
export {
  type BulkStep,
  bulkJson,
  cursorJson,
  type Explanation,
  explanationJson,
  type RepairedConnection,
  type RepairStep,
  type RunWindow,
  repairJson,
  type SchedulePreview,
  type StoredCursor,
  scheduleJson,
} from './connections/results.ts';
export { withDatabaseErrors } from './database-errors.ts';
export type { JobsApi, ListedJobs } from './jobs/index.ts';
export { type Job, type JobDetail, jobDetailJson, jobJson, type Run } from './jobs/model.ts';
export {
  type ApiKey,
  type ApiKeyDetail,
  type AuditEvent,
  auditEventJson,
  type ConnectionEvent,
  connectionEventJson,
  keyDetailJson,
  keyJson,
  meJson,
  type NewApiKey,
  newKeyJson,
  type Provider,
  providerJson,
  scopeOf,
  type Tenant,
  tenantJson,
} from './model.ts';
export { sharePool } from './pool-shares.ts';
export type { ListedTenants, NewProvider, ProvidersApi, TenantsApi } from './registry.ts';
export type { StatsApi } from './stats.ts';
export {
  type AttentionItem,
  attentionJson,
  type Load,
  loadJson,
  type Overview,
  overviewJson,
  type ProcessInfo,
  type Series,
  type SeriesPoint,
  type SystemInfo,
  seriesJson,
  systemJson,
  type TableInfo,
  type Totals,
} from './stats-model.ts';
export { createStatus, type Status } from './status.ts';
