import { createBudgets } from '../budgets/index.ts';
import { recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import type { Config } from '../config/settings.ts';
import type { Connector } from '../contract/connector.ts';
import type { Vault } from '../credentials/index.ts';
import { createAuthorize, createCredentialStore } from '../credentials/index.ts';
import type { FeedReader, FeedWatch } from '../feed/index.ts';
import { createConsumers, createFeed, createSignals } from '../feed/index.ts';
import type { Ports } from '../platform/ports.ts';
import type { Database } from '../store/database.ts';
import type { ReadJson } from '../values/stored-json.ts';
import { createWebhooks } from '../webhooks/index.ts';
import { createKeys } from './access.ts';
import { createAudit } from './audit.ts';
import { createConnections } from './connections/index.ts';
import { createRepair } from './connections/repair.ts';
import { withDatabaseErrors, withDatabaseErrorsEach } from './database-errors.ts';
import { createJobs } from './jobs/index.ts';
import { createProviders, createTenants } from './registry.ts';
import { createStats } from './stats.ts';
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
  /** Converts stored JSON that is passed through: payloads, job cursors, event details. */
  json: ReadJson;
  /** Continues open deletions in the background. */
  continueDeletions: () => void;
  /** Aborts when the instance stops. */
  stopping: AbortSignal;
  /** Converts driver errors to SynclineErrors. */
  explain: (error: unknown) => unknown;
}

export type SynclineApi = ReturnType<typeof createApi>;

/** The API of one caller: a tenant or the operator. */
export function createApi(context: ApiContext) {
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
      feed: (...args: Parameters<typeof feed.feed>) => withDatabaseErrorsEach(feed.feed(...args), explain),
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

export { budgetJson } from '../budgets/index.ts';
export { credentialJson } from '../credentials/index.ts';
export { consumerJson, feedSignalJson, signalJson } from '../feed/index.ts';
export { deletionJson } from '../runtime/index.ts';
export { newWebhookJson, webhookJson } from '../webhooks/index.ts';
export {
  type Access,
  createAccess,
  hashOf,
  type Identity,
  publicPrefix,
  type Refused,
} from './access.ts';
export { bulkActions } from './connections/bulk.ts';
export { requireConfig } from './connections/config.ts';
export type { TriggerResult } from './connections/lifecycle.ts';
export { type Connection, type ConnectionSync, connectionJson } from './connections/model.ts';
export type { RepairRequest } from './connections/repair.ts';
export {
  bulkJson,
  cursorJson,
  type Explanation,
  explanationJson,
  type PreviewedRun,
  type RepairedConnection,
  repairJson,
  type SchedulePreview,
  scheduleJson,
  triggeredJson,
} from './connections/results.ts';
export { withDatabaseErrors } from './database-errors.ts';
export { type Attempt, type Job, type JobDetail, jobDetailJson, jobJson } from './jobs/model.ts';
export {
  type ApiKey,
  type AuditEvent,
  auditEventJson,
  type ConnectionEvent,
  connectionEventJson,
  keyDetailJson,
  keyJson,
  meJson,
  newKeyJson,
  providerJson,
  scopeOf,
  tenantJson,
} from './model.ts';
export { sharePool } from './pool-shares.ts';
export {
  attentionJson,
  loadJson,
  overviewJson,
  seriesJson,
  systemJson,
} from './stats-model.ts';
export { createStatus, type Status } from './status.ts';
