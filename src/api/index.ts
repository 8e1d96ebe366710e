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
import { createJobs } from './jobs/index.ts';
import { createProviders, createTenants } from './registry.ts';
import { createStats } from './stats.ts';
import { createSystem } from './system.ts';

export interface ViewContext {
  db: Database;
  ports: Ports;
  who: Caller;
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

export type SynclineApi = ReturnType<typeof createView>;

/** The API of one caller: a tenant or the operator. */
export function createView(context: ViewContext) {
  const { db, ports, who, config, explain } = context;
  const record = recorder(ports, who);
  const shared = { ...context, record };
  const feed = createFeed(context);
  return {
    who,
    tenants: explainedAll(createTenants(shared), explain),
    providers: explainedAll(createProviders(shared), explain),
    connections: explainedAll(
      { ...createConnections({ ...shared, config: config.scheduler }), ...createRepair(shared) },
      explain,
    ),
    credentials: explainedAll(
      { ...createCredentialStore(shared), authorize: createAuthorize({ ...context, config: config.server }) },
      explain,
    ),
    jobs: explainedAll(createJobs(shared), explain),
    signals: {
      ...explainedAll({ ...createSignals(context), read: feed.read }, explain),
      feed: (...args: Parameters<typeof feed.feed>) => explainedEach(feed.feed(...args), explain),
    },
    consumers: explainedAll(createConsumers(shared), explain),
    stats: explainedAll(createStats({ db, who, config }), explain),
    budgets: explainedAll(createBudgets(shared), explain),
    audit: explainedAll(createAudit(shared), explain),
    keys: explainedAll(createKeys(shared), explain),
    webhooks: explainedAll(createWebhooks(shared), explain),
    ...explainedAll({ system: createSystem({ db, who, config }) }, explain),
  };
}

type Explain = ViewContext['explain'];

const explained = <T>(work: Promise<T>, explain: Explain): Promise<T> =>
  work.catch((error: unknown) => {
    throw explain(error);
  });

export function explainedAll<Api extends Record<string, (...args: never[]) => Promise<unknown>>>(
  api: Api,
  explain: Explain,
): Api {
  const methods = Object.entries(api).map(([name, method]) => [
    name,
    (...args: never[]) => explained(method(...args), explain),
  ]);
  return Object.fromEntries(methods) as Api;
}

async function* explainedEach<T>(items: AsyncGenerator<T>, explain: Explain): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw explain(error);
  }
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
