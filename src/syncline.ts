import type { Logger } from 'pino';
import {
  type Access,
  createAccess,
  createApi,
  createStatus,
  type Status,
  type SynclineApi,
  sharePool,
  withDatabaseErrors,
} from './api/index.ts';
import { createBudgetKeeper } from './budgets/index.ts';
import type { Caller } from './caller/caller.ts';
import { loadConfig } from './config/load.ts';
import type { Config, ConfigOptions } from './config/settings.ts';
import { type Connector, connectorsByProvider } from './contract/connector.ts';
import { SynclineError } from './contract/errors.ts';
import { createCredentialHandles, createOAuth, createVault, type OAuthApi } from './credentials/index.ts';
import { type DoctorReport, examine, repairFeedAtStart, withMissingGrants } from './doctor/index.ts';
import { createFeedReader, createFeedWatch } from './feed/index.ts';
import { createLogger } from './platform/log.ts';
import { type Ports, systemPorts } from './platform/ports.ts';
import { createDeleter, createEngine, type Engine } from './runtime/index.ts';
import { openDatabase } from './store/database.ts';
import { explainDatabaseError } from './store/database-errors.ts';
import { openReserved } from './store/reserved.ts';
import { openSingle } from './store/single.ts';
import { createTelemetry, type TelemetryProviders } from './telemetry/index.ts';
import { parseStored, type ReadJson } from './values/stored-json.ts';
import { createDeliver, type DeliveriesApi } from './webhooks/index.ts';

/** Settings, connectors and dependencies of an engine. */
export interface SynclineOptions<C extends Connector = Connector> extends ConfigOptions {
  /** Made with `defineConnector`. Jobs of other providers stay queued. */
  connectors?: readonly C[];
  /** Receives all log lines. Default: pino to standard output. */
  logger?: Logger;
  /** Where metrics and spans go. Default: the providers registered with OpenTelemetry. */
  telemetry?: TelemetryProviders;
  /** Clock, timers, randomness and fetch, for tests. Default: the system's. */
  ports?: Ports;
}

/** The operator's API and the engine. `C`: the union of its connectors. */
export interface Syncline<C extends Connector = Connector> extends SynclineApi<C>, Engine {
  /** Effective settings: defaults, environment and options. */
  readonly config: Config;
  /** Clock, timers and randomness, for custom servers. */
  readonly ports: Ports;
  /**
   * The API limited to the caller's tenant, audited under its actor. `json` converts stored JSON; default:
   * JSON.parse.
   */
  as(caller: Caller, json?: ReadJson): SynclineApi<C>;
  /** Authenticates API keys and sessions. */
  readonly access: Access;
  /** Webhook secrets of connections, and deliveries. */
  readonly webhooks: DeliveriesApi;
  /** The OAuth flow, bound to one browser, for custom servers. */
  readonly oauth: OAuthApi;
  /** Schema version and last tick; rejects if the database is unusable. */
  status(): Promise<Status>;
  /** Diagnoses database and fleet. Writes only with `fix`. */
  doctor(options?: { fix?: boolean }): Promise<DoctorReport>;
}

interface Parts {
  config: Config;
  log: Logger;
  ports: Ports;
  connectors: readonly Connector[];
  providers?: TelemetryProviders;
}

/** Creates an engine and its API. It connects at the first call; `start` begins to schedule and run jobs. */
export function createSyncline<C extends Connector = Connector>(
  options: SynclineOptions<C> = {},
): Syncline<C> {
  const { logger, telemetry: providers, ports = systemPorts, connectors = [], ...configOptions } = options;
  const { config, warnings } = loadConfig({ options: configOptions, env: process.env });
  const log =
    logger ?? createLogger({ level: config.log.level, readable: process.stdout.isTTY, to: 'stdout' });
  for (const warning of warnings) log.warn(warning);
  return compose({ config, log, ports, connectors, ...(providers && { providers }) }) as Syncline<C>;
}

function compose({ config, log, ports: outside, providers, ...parts }: Parts): Syncline {
  const connectors = connectorsByProvider(parts.connectors);
  const { url, poolSize } = config.database;
  if (url === undefined)
    throw new SynclineError('CONFIG_INVALID', 'No database is configured.', {
      hint:
        'Set SYNCLINE_DATABASE_URL, or the option database, to a URL such as ' +
        'postgres://user:password@host:5432/database.',
    });
  const explain = (error: unknown) => explainDatabaseError(error, url);
  const telemetry = createTelemetry(
    log,
    config.metrics,
    { explain, monotonicMs: outside.monotonicMs },
    providers,
  );
  const stopping = new AbortController();
  /** All work has ended; the connections close next. */
  const closing = new AbortController();
  const db = openDatabase(config.database, {
    ports: outside,
    // Expected during shutdown.
    onConnectionLost: (error) => stopping.signal.aborted || telemetry.connectionLost(error),
    onSkew: telemetry.clockSkewed,
  });
  // DB-6: from here on, times and ids come from the database's clock.
  const ports: Ports = {
    ...outside,
    now: () => db.clock.nowMs(),
    newId: () => outside.newId(db.clock.nowMs()),
  };
  const vault = createVault(config.credentials.keys);
  const shared = { db, ports, telemetry, log, connectors, vault, closing: closing.signal };
  const own = { config: config.database, ports, clock: db.clock };
  // Health probes time out after one to five seconds.
  const probe = openSingle({ ...own, name: 'syncline probe', timeoutMs: 2000 });
  const budgets = createBudgetKeeper({ ...shared, explain });
  const credentials = createCredentialHandles({ ...shared, config: config.database });
  const deleter = createDeleter(shared);

  const engine = createEngine({
    ...{ ...shared, config, explain, stopping },
    scheduler: { ...shared, config: config.scheduler },
    executor: {
      ...{ ...shared, config: config.executor, rateLimit: config.rateLimit },
      resources: {
        ...{ credentials, budgets: budgets.forRun, fetch: ports.fetch },
        clock: { now: ports.now, monotonicMs: ports.monotonicMs, sleep: ports.sleep },
      },
      openReserved: (reserved) => openReserved({ ...own, ...reserved }),
    },
    repair: () => repairFeedAtStart(db, log),
    withMissingGrants: (error) => withMissingGrants(db, error),
    close: async () => {
      await deleter.stop();
      closing.abort();
      await budgets.stop();
      await probe.close();
      await db.close();
    },
  });

  const { apiDb, deliveries } = sharePool(db, { poolSize, ports, isRunning: engine.isRunning });
  const api = {
    ...{ ...shared, config, explain, stopping: stopping.signal, continueDeletions: deleter.start },
    ...{ reader: createFeedReader(), watch: createFeedWatch({ db: apiDb('feed'), ports }) },
  };
  const apiFor = (caller: Caller, json: ReadJson = parseStored): SynclineApi =>
    createApi({ ...api, db: apiDb(caller.tenantId ?? caller.actor).scopedTo(caller.tenantId), caller, json });
  const deliver = createDeliver({ ...shared, ...deliveries });
  const doctor = ({ fix = false }: { fix?: boolean } = {}) => examine({ ...shared, config, explain, fix });
  const root = apiFor({ actor: 'api' });
  const consent = { ...shared, db: apiDb('oauth') };
  return {
    config,
    ports,
    ...withDatabaseErrors({ ...engine.control }, explain),
    ...root,
    webhooks: { ...root.webhooks, ...withDatabaseErrors({ deliver }, explain) },
    as: apiFor,
    access: withDatabaseErrors(createAccess({ ...shared, db: apiDb('access') }), explain),
    oauth: withDatabaseErrors(createOAuth(consent), explain),
    ...withDatabaseErrors({ doctor, status: createStatus(probe, config) }, explain),
  };
}
