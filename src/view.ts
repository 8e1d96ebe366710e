import { createKeys } from './access.ts';
import { createAudit } from './audit.ts';
import { createBudgets } from './budgets.ts';
import type { Config } from './config/settings.ts';
import { createConnections } from './connections.ts';
import type { Connector } from './connector.ts';
import { createConsumers } from './consumers.ts';
import { createAuthorize } from './credentials/authorize.ts';
import type { Vault } from './credentials/vault.ts';
import { createCredentialStore } from './credentials.ts';
import { recorder } from './doer.ts';
import { createFeed } from './feed/feed.ts';
import type { FeedReader } from './feed/reader.ts';
import type { FeedWatch } from './feed/watch.ts';
import { createJobs } from './jobs.ts';
import type { Ports } from './ports.ts';
import { createProviders, createTenants } from './registry.ts';
import { createRepair } from './repair.ts';
import { createSignals } from './signals.ts';
import { createStats } from './stats.ts';
import type { Database } from './store/database.ts';
import type { ReadJson } from './stored-json.ts';
import { createSystem } from './system.ts';
import { createWebhooks } from './webhooks/webhooks.ts';
import type { Who } from './who.ts';

export interface ViewContext {
  /** Limited to what may be seen. */
  db: Database;
  ports: Ports;
  who: Who;
  config: Config;
  connectors: ReadonlyMap<string, Connector>;
  vault: Vault;
  reader: FeedReader;
  watch: FeedWatch;
  /** What becomes of stored JSON that is only passed on: payloads, cursors of jobs, details of events. */
  json: ReadJson;
  /** Has this process continue open deletions in the background. */
  continueDeletions: () => void;
  /** Turns what the driver throws into something that can be understood. */
  explain: (error: unknown) => unknown;
}

export type View = ReturnType<typeof createView>;

/** Everything that can be seen and done, by one tenant or by the operator. */
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

export const explained = <T>(work: Promise<T>, explain: Explain): Promise<T> =>
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
