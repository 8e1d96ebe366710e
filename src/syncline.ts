import type { Logger } from 'pino';
import {
  type Access,
  createAccess,
  createView,
  explained,
  explainedAll,
  type SynclineApi,
} from './api/index.ts';
import { createBudgetKeeper } from './budgets/index.ts';
import type { Caller } from './caller/caller.ts';
import { loadConfig } from './config/load.ts';
import type { Config, ConfigOptions } from './config/settings.ts';
import { type Connector, connectorsByProvider } from './contract/connector.ts';
import { describeError, SynclineError } from './contract/errors.ts';
import { createCredentialHandles, createFinish, createStart, createVault } from './credentials/index.ts';
import { type DoctorReport, describeRepair, examine, withMissingGrants } from './doctor/index.ts';
import { createFeedReader, createFeedWatch } from './feed/index.ts';
import { type TickResult, tick } from './pipeline/tick.ts';
import type { Loop } from './platform/loop.ts';
import { type Ports, systemPorts } from './platform/ports.ts';
import { retry } from './platform/retry.ts';
import { createSemaphore, sharesOfPool } from './platform/semaphore.ts';
import {
  createDeleter,
  type Executor,
  startExecutor,
  startJanitor,
  startScheduler,
  type WorkTotals,
  watchFailures,
} from './runtime/index.ts';
import { type Database, openDatabase } from './store/database.ts';
import { explainDatabaseError, isTransient } from './store/database-errors.ts';
import { repairFeed } from './store/feed-sequence.ts';
import { gated } from './store/gated.ts';
import { checkSchema, type MigrationResult, migrate } from './store/migrate.ts';
import { openReserved } from './store/reserved.ts';
import { lastTickAt } from './store/schedulers.ts';
import { openSingle } from './store/single.ts';
import type { WakeReason } from './store/wake.ts';
import { createLogger, createTelemetry, type TelemetryProviders } from './telemetry/index.ts';
import { requireOneOf } from './values/arguments.ts';
import { parseStored, type ReadJson } from './values/stored-json.ts';
import { createReceiver, type Receive } from './webhooks/index.ts';

/** Any number of processes may run any role. */
export const roles = ['scheduler', 'executor', 'janitor'] as const;
export type Role = (typeof roles)[number];

export interface SynclineOptions extends ConfigOptions {
  /** Connectors made with `defineConnector`. Jobs of other providers stay queued. */
  connectors?: readonly Connector[];
  /** Default: pino to standard output. */
  logger?: Logger;
  /** Default: the providers registered with OpenTelemetry. */
  telemetry?: TelemetryProviders;
  /** Default: the system's. */
  ports?: Ports;
}

/** The operator's API and the engine. */
export interface Syncline extends SynclineApi {
  readonly config: Config;
  /** The instance's clock, timers and randomness, for custom servers. */
  readonly ports: Ports;
  /** Migrates the database schema to this release. Safe to call from many processes in parallel. */
  migrate(): Promise<MigrationResult>;
  /** Waits for the database with backoff and checks its schema version. */
  ready(options?: { attempts?: number }): Promise<void>;
  /** Runs the roles (default: all) until `stop`. */
  start(options?: { roles?: readonly Role[] }): Promise<void>;
  /**
   * Lets current work commit, waits for `serving` (a server's open responses), and closes all connections.
   */
  stop(options?: { serving?: Promise<unknown> | undefined }): Promise<void>;
  /** Runs one complete scheduler tick, as of `at`. */
  tick(options?: { at?: Date }): Promise<TickResult>;
  /**
   * Runs jobs until nothing is due and nothing runs. Rejects if no retry can help (a missing grant or table),
   * and after two minutes without the database.
   */
  drain(options?: { signal?: AbortSignal }): Promise<WorkTotals>;
  /**
   * The API limited to the caller's tenant, audited under its actor. `json` converts stored JSON text;
   * default: JSON.parse.
   */
  as(who: Caller, json?: ReadJson): SynclineApi;
  /** Authenticates API keys and sessions. */
  readonly access: Access;
  /** Processes a webhook delivery, for custom servers. */
  readonly receive: Receive;
  /** The OAuth flow, bound to one browser, for custom servers. */
  readonly authorizations: ReturnType<typeof createStart> & { finish: ReturnType<typeof createFinish> };
  /** Schema version and last tick; rejects if the database is unusable. */
  status(): Promise<Status>;
  /** Diagnoses the database and the fleet. Writes only with `fix`. */
  doctor(options?: { fix?: boolean }): Promise<DoctorReport>;
}

export interface Status {
  schemaVersion: number;
  lastTickAt: Date | undefined;
  tickIntervalSeconds: number;
  /** DB-6: the database's time, for comparison with `lastTickAt`. */
  now: Date;
}

export function createSyncline(options: SynclineOptions = {}): Syncline {
  const { logger, telemetry: providers, ports = systemPorts, connectors = [], ...configOptions } = options;
  const { config, warnings } = loadConfig({ options: configOptions, env: process.env });
  const log =
    logger ?? createLogger({ level: config.log.level, readable: process.stdout.isTTY, to: 'stdout' });
  for (const warning of warnings) log.warn(warning);
  return compose({ config, log, ports, connectors, ...(providers && { providers }) });
}

export interface Parts {
  config: Config;
  log: Logger;
  ports: Ports;
  connectors: readonly Connector[];
  providers?: TelemetryProviders;
}

const maxApiWaitMs = 10_000;
/** Health probes time out after one to five seconds. */
const probeTimeoutMs = 2000;

/** About four seconds, enough for a database restart. */
const defaultAttempts = 5;

export function compose(parts: Parts): Syncline {
  const { config, log, ports: outside, providers } = parts;
  const connectors = connectorsByProvider(parts.connectors);
  if (config.database.url === undefined) {
    throw new SynclineError('CONFIG_INVALID', 'No database is configured.', {
      hint: 'Set SYNCLINE_DATABASE_URL to a URL such as postgres://user:password@host:5432/database.',
    });
  }
  const { url, schema } = config.database;
  const explain = (error: unknown) => explainDatabaseError(error, url);
  /** `stop` was called. */
  const stopping = new AbortController();
  /** All work has ended; the connections close next. */
  const closing = new AbortController();
  const db = openDatabase(config.database, {
    ports: outside,
    onConnectionLost: (error) => {
      // Expected during shutdown.
      if (!stopping.signal.aborted)
        log.debug(`an idle database connection was lost: ${describeError(error)}`);
    },
    onSkew: (skewMs) =>
      log.warn({ event: 'clock_skew', skew_seconds: Math.trunc(skewMs / 1000) }, skewMessage(skewMs)),
  });
  // DB-6: from here on, times and ids come from the database's clock.
  const ports: Ports = {
    ...outside,
    now: () => db.clock.nowMs(),
    newId: () => outside.newId(db.clock.nowMs()),
  };
  const telemetry = createTelemetry(log, config.metrics, explain, providers);
  const shared = { db, ports, telemetry };
  const scheduler = { ...shared, config: config.scheduler };
  const vault = createVault(config.credentials.keys);
  const credentials = createCredentialHandles({
    ...{ ...shared, vault, log, connectors, config: config.database },
    closing: closing.signal,
  });
  const budgets = createBudgetKeeper({ ...shared, explain });
  const { poolSize } = config.database;
  const executor = {
    ...shared,
    config: config.executor,
    rateLimit: config.rateLimit,
    connectors,
    resources: {
      credentials,
      budgets: budgets.forRun,
      fetch: ports.fetch,
      clock: { now: ports.now, monotonicMs: ports.monotonicMs, sleep: ports.sleep },
    },
    openReserved: (onWake: (reason: WakeReason) => void) => {
      // Two attempts must fit into a lease, but a slow server must not time out.
      const timeoutMs = Math.min(10_000, Math.max(1000, config.executor.leaseSeconds * 300));
      return openReserved({ config: config.database, ports, clock: db.clock, timeoutMs, onWake });
    },
  };
  const deleter = createDeleter(shared);
  const continueDeletions = () => deleter.start();
  const loops: Loop[] = [];
  const shares = sharesOfPool(poolSize);
  // With roles running, the API leaves pool connections to them; otherwise only to webhook deliveries.
  const apiGate = createSemaphore(() => (loops.length > 0 ? shares.api : poolSize - shares.deliveries), {
    fair: true,
    maxWait: { ms: maxApiWaitMs, ports },
    refusal: noConnectionFree,
  });
  const apiDb = (holder: string): Database => gated(db, (work) => apiGate.run(work, holder));
  // API and deliveries share one of two connections.
  const deliveriesGate = poolSize < 3 ? apiGate : createSemaphore(shares.deliveries);
  const receive = createReceiver({
    ...{ db, ports, log, connectors, vault },
    ...{ gate: deliveriesGate, maxHeld: Math.max(1, shares.deliveries - 1) },
  });
  const probe = openSingle({
    config: config.database,
    ports,
    clock: db.clock,
    name: 'syncline probe',
    timeoutMs: probeTimeoutMs,
  });
  const feed = { reader: createFeedReader(), watch: createFeedWatch({ db: apiDb('feed'), ports }) };
  const viewFor = (who: Caller, json: ReadJson = parseStored): SynclineApi => {
    const viewDb = apiDb(who.tenantId ?? who.actor).scopedTo(who.tenantId);
    return createView({
      ...{ db: viewDb, ports, who, config, connectors, vault, explain, json, continueDeletions },
      ...{ ...feed, stopping: stopping.signal },
    });
  };
  let started = false;
  let stopped: Promise<void> | undefined;

  const start: Record<Role, () => Loop> = {
    scheduler: () => startScheduler(scheduler),
    executor: () => startExecutor(executor),
    janitor: () => startJanitor({ ...shared, config: config.retention }),
  };

  /** Retries with backoff while the database is unreachable. */
  const withRetries = <T>(work: () => Promise<T>, attempts: number): Promise<T> =>
    explained(
      retry(work, {
        ports,
        attempts,
        shouldRetry: isTransient,
        onRetry: (error, retryMs) =>
          log.warn(`${describeError(explain(error))} Retrying in ${(retryMs / 1000).toFixed(1)} s.`),
        signal: stopping.signal,
      }),
      explain,
    );

  async function check(): Promise<void> {
    await checkSchema(db, schema);
    await db.now();
  }

  async function prepare(): Promise<void> {
    await check();
    const repaired = await repairFeed(db);
    if (repaired) log.warn({ event: 'feed_repaired', ...repaired }, describeRepair(repaired));
  }

  async function shutDown(serving: Promise<unknown> | undefined): Promise<void> {
    stopping.abort();
    if (started)
      log.info({ event: 'shutdown' }, 'shutting down: finishing current work, starting nothing new');
    await Promise.all(loops.map((loop) => loop.stop()));
    await serving?.catch(() => {});
    await deleter.stop();
    closing.abort();
    await budgets.stop();
    await probe.close();
    await db.close();
    if (started) log.info({ event: 'stopped' }, 'stopped');
  }

  return {
    config,
    ports,
    migrate: () =>
      withRetries(
        () =>
          migrate(config.database, {
            ports,
            signal: stopping.signal,
            onBlocked: (message) => log.warn(message),
          }),
        defaultAttempts,
      ),
    ready: async ({ attempts = defaultAttempts } = {}) => {
      await withRetries(check, attempts);
    },
    tick: ({ at } = {}) => explained(tick(scheduler, at?.getTime(), stopping.signal), explain),

    async drain({ signal } = {}) {
      if (stopping.signal.aborted)
        throw new SynclineError('CONFLICT', 'This Syncline instance has been stopped.');
      await withRetries(prepare, defaultAttempts);
      const watch = watchFailures(telemetry, ports);
      const worker: Executor = startExecutor({ ...executor, telemetry: watch.telemetry });
      loops.push(worker);
      const listeners = new AbortController();
      const aborted = new Promise<void>((resolve) => {
        for (const source of [signal, stopping.signal]) {
          if (source?.aborted) resolve();
          source?.addEventListener('abort', () => resolve(), { once: true, signal: listeners.signal });
        }
      });
      const failed = await Promise.race([worker.drained(), aborted, watch.hopeless]);
      listeners.abort();
      await worker.stop();
      loops.splice(loops.indexOf(worker), 1);
      if (failed) throw await withMissingGrants(db, explain(failed.error));
      return worker.totals();
    },

    async start({ roles: startedRoles = roles } = {}) {
      for (const role of startedRoles) requireRole(role);
      if (started) throw new SynclineError('CONFLICT', 'This Syncline instance is already started.');
      started = true;
      try {
        await withRetries(prepare, Number.POSITIVE_INFINITY);
      } catch (error) {
        started = false;
        // stop() during the retries is not a failure.
        if (!stopping.signal.aborted) throw error;
      }
      if (stopping.signal.aborted) return;
      loops.push(...startedRoles.map((role) => start[role]()));
      log.info({ roles: startedRoles, schema }, `started: ${startedRoles.join(', ')}`);
    },

    stop({ serving } = {}) {
      stopped ??= shutDown(serving);
      return stopped;
    },

    ...viewFor({ actor: 'api' }),
    as: viewFor,
    access: explainedAll(createAccess({ db: apiDb('access'), ports }), explain),
    ...explainedAll({ receive }, explain),
    authorizations: explainedAll(
      {
        ...createStart({ db: apiDb('authorizations'), ports, vault, connectors }),
        finish: createFinish({
          ...{ db: apiDb('authorizations'), ports, vault, connectors, log },
          closing: closing.signal,
        }),
      },
      explain,
    ),
    doctor: ({ fix = false } = {}) => explained(examine({ db, ports, config, vault, explain, fix }), explain),
    status: async () => {
      const schemaVersion = await explained(checkSchema(probe, schema), explain);
      const tickedAt = await explained(lastTickAt(probe), explain);
      const now = await explained(probe.now(), explain);
      const { tickIntervalSeconds } = config.scheduler;
      return { schemaVersion, lastTickAt: tickedAt, tickIntervalSeconds, now };
    },
  };
}

function skewMessage(skewMs: number): string {
  const direction = skewMs > 0 ? 'ahead of' : 'behind';
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  return (
    `this machine's clock is ${seconds} s ${direction} the database's; ` +
    "the database's clock decides what is due. Check NTP on both."
  );
}

function noConnectionFree(): SynclineError {
  return new SynclineError(
    'OVERLOADED',
    `No database connection was free for the API within ${maxApiWaitMs / 1000} s.`,
    { hint: 'Raise database.poolSize, or look for statements that wait for a lock (`syncline doctor`).' },
  );
}

function requireRole(role: string): asserts role is Role {
  requireOneOf('role', role, roles);
}
