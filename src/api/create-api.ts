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

/**
 * The factories get one context and take what they need from it; those of one section of the configuration get
 * that section as `config`.
 */
export function createApi(options: ApiContext): SynclineApi {
  const { ports, caller, config, explain } = options;
  const context = { ...options, record: recorder(ports, caller) };
  const connections = createConnections({ ...context, config: config.scheduler });
  const authorize = createAuthorize({ ...context, config: config.server });
  const feed = createFeed(context);
  return {
    caller,
    tenants: withDatabaseErrors(createTenants(context), explain),
    providers: withDatabaseErrors(createProviders(context), explain),
    connections: withDatabaseErrors({ ...connections, ...createRepair(context) }, explain),
    credentials: withDatabaseErrors({ ...createCredentialStore(context), authorize }, explain),
    jobs: withDatabaseErrors(createJobs(context), explain),
    signals: {
      ...withDatabaseErrors({ ...createSignals(context), read: feed.read }, explain),
      feed: (feedOptions) => withDatabaseErrorsEach(feed.feed(feedOptions), explain),
    },
    consumers: withDatabaseErrors(createConsumers(context), explain),
    stats: withDatabaseErrors(createStats(context), explain),
    budgets: withDatabaseErrors(createBudgets(context), explain),
    audit: withDatabaseErrors(createAudit(context), explain),
    keys: withDatabaseErrors(createKeys(context), explain),
    webhooks: withDatabaseErrors(createWebhooks(context), explain),
    ...withDatabaseErrors({ system: createSystem(context) }, explain),
  };
}
