import type { Logger } from 'pino';
import { type Access, createAccess } from './access.ts';
import { createBudgetKeeper } from './budgets/keeper.ts';
import { loadConfig } from './config/load.ts';
import type { Config, ConfigOptions } from './config/settings.ts';
import { suggestion } from './config/suggest.ts';
import { type Connector, connectorsByProvider } from './connector.ts';
import { createFinish } from './credentials/finish.ts';
import { createCredentialHandles } from './credentials/handles.ts';
import { createVault } from './credentials/vault.ts';
import { type Examination, examine } from './doctor/doctor.ts';
import { describeError, SynclineError } from './errors.ts';
import { createFeedReader } from './feed/reader.ts';
import { createFeedWatch } from './feed/watch.ts';
import { type TickResult, tick } from './pipeline/tick.ts';
import { type Ports, systemPorts } from './ports.ts';
import { retryDelayMs } from './retry-delay.ts';
import { type Executor, startExecutor, type WorkTotals } from './runtime/executor.ts';
import { startJanitor } from './runtime/janitor.ts';
import type { Loop } from './runtime/loop.ts';
import { startScheduler } from './runtime/scheduler.ts';
import { openDatabase } from './store/database.ts';
import { explainDatabaseError, isPassing } from './store/database-errors.ts';
import { checkSchema, type MigrationResult, migrate } from './store/migrate.ts';
import { openReserved } from './store/reserved.ts';
import { lastTickAt } from './store/schedulers.ts';
import type { WakeReason } from './store/wake.ts';
import { createLogger } from './telemetry/log.ts';
import { createTelemetry, type TelemetryProviders } from './telemetry/telemetry.ts';
import { createView, explained, explainedAll, type View } from './view.ts';
import { createReceiver, type Receive } from './webhooks/receive.ts';
import type { Who } from './who.ts';

/** What a process can do for the fleet. Any number of processes may have any role. */
export const roles = ['scheduler', 'executor', 'janitor'] as const;
export type Role = (typeof roles)[number];

export interface SynclineOptions extends ConfigOptions {
  /** What this process can sync, each made with `defineConnector`. Jobs of other providers stay queued. */
  connectors?: readonly Connector[];
  /** A pino logger to write to; one to standard output unless given. */
  logger?: Logger;
  /** Where metrics and spans go; the providers registered with OpenTelemetry unless given. */
  telemetry?: TelemetryProviders;
  /** Where time and randomness come from; the system unless given. */
  ports?: Ports;
}

/** The operator's view, and what runs the engine. */
export interface Syncline extends View {
  readonly config: Config;
  /** Brings the database schema to this release's version. Safe to call from many processes at once. */
  migrate(): Promise<MigrationResult>;
  /** Waits for the database, with growing pauses, and checks that its schema fits. */
  ready(options?: { attempts?: number }): Promise<void>;
  /** Runs the given roles, all unless given, until `stop`. */
  start(options?: { roles?: readonly Role[] }): Promise<void>;
  /**
   * Starts nothing new, lets what is under way commit, and closes every database connection: not before `serving` has
   * settled, if it is given, so that a server can answer what it has begun to.
   */
  stop(options?: { serving?: Promise<unknown> | undefined }): Promise<void>;
  /** Runs one complete scheduler tick, as of `at`. */
  tick(options?: { at?: Date }): Promise<TickResult>;
  /** Runs due jobs until nothing is due and nothing runs, or until `signal` aborts or `stop` is called. */
  drain(options?: { signal?: AbortSignal }): Promise<WorkTotals>;
  /** The same engine as somebody else sees it: limited to a tenant if there is one, changes under the actor's name. */
  as(who: Who): View;
  /** Who is behind an API key or a session. */
  readonly access: Access;
  /** Takes what a provider sent to a connection's webhook: for servers of one's own. */
  readonly receive: Receive;
  /** Takes people back who were sent to a provider to give their consent. */
  readonly authorizations: { finish: ReturnType<typeof createFinish> };
  /** Whether the database can be used, and when a scheduler last ticked. */
  status(): Promise<Status>;
  /** Looks for what is wrong with the database and the fleet, and what to do about it. Writes nothing. */
  doctor(): Promise<Examination>;
}

export interface Status {
  schemaVersion: number;
  lastTickAt: Date | undefined;
  tickIntervalSeconds: number;
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

/** About four seconds: a database that is just restarting is back by then, and a person has not given up. */
const usualAttempts = 5;

/** Builds the engine from a configuration that has been loaded and checked. */
export function compose({ config, log, ports, connectors: given, providers }: Parts): Syncline {
  const connectors = connectorsByProvider(given);
  if (config.database.url === undefined) {
    throw new SynclineError('CONFIG_INVALID', 'No database is configured.', {
      hint: 'Set SYNCLINE_DATABASE_URL to a URL such as postgres://user:password@host:5432/database.',
    });
  }
  const { url, schema } = config.database;
  const explain = (error: unknown) => explainDatabaseError(error, url);
  const stopping = new AbortController();
  const db = openDatabase(config.database, ports, (error) => {
    // While closing, a server that goes away at the same time is no news.
    if (!stopping.signal.aborted) log.debug(`an idle database connection was lost: ${describeError(error)}`);
  });
  const telemetry = createTelemetry(log, config.metrics, explain, providers);
  const shared = { db, ports, telemetry };
  const scheduler = { ...shared, config: config.scheduler };
  const vault = createVault(config.credentials.keys);
  const credentials = createCredentialHandles({ ...shared, vault, log, connectors, config: config.database });
  const budgets = createBudgetKeeper({ ...shared, explain });
  const { poolSize } = config.database;
  const receive = createReceiver({ db, ports, log, connectors, vault, poolSize });
  const executor = {
    ...shared,
    config: config.executor,
    rateLimit: config.rateLimit,
    connectors,
    resources: { credentials, budgets: budgets.forRun, fetch: ports.fetch },
    openReserved: (onWake: (reason: WakeReason) => void) => {
      // Two tries must fit into a lease, and a server that is only slow must not be taken for dead.
      const timeoutMs = Math.min(10_000, Math.max(1000, config.executor.leaseSeconds * 300));
      return openReserved({ config: config.database, ports, timeoutMs, onWake });
    },
  };
  const feed = { reader: createFeedReader(), watch: createFeedWatch({ db, ports }) };
  const viewFor = (who: Who): View =>
    createView({ db: db.scopedTo(who.tenantId), ports, who, config, connectors, vault, explain, ...feed });
  const loops: Loop[] = [];
  let started = false;
  let stopped: Promise<void> | undefined;

  const start: Record<Role, () => Loop> = {
    scheduler: () => startScheduler(scheduler),
    executor: () => startExecutor(executor),
    janitor: () => startJanitor({ ...shared, config: config.retention }),
  };

  /** Tries again, with growing pauses, while the database cannot be reached. */
  async function patiently<T>(work: () => Promise<T>, attempts: number): Promise<T> {
    for (let failures = 1; ; failures++) {
      try {
        return await work();
      } catch (cause) {
        const error = explain(cause);
        if (!isPassing(cause) || failures >= attempts || stopping.signal.aborted) throw error;
        const retryMs = retryDelayMs(failures, ports.random());
        log.warn(`${describeError(error)} Trying again in ${(retryMs / 1000).toFixed(1)} s.`);
        await ports.sleep(retryMs, stopping.signal);
        if (stopping.signal.aborted) throw error;
      }
    }
  }

  async function shutDown(serving: Promise<unknown> | undefined): Promise<void> {
    stopping.abort();
    if (started)
      log.info({ event: 'shutdown' }, 'shutting down: nothing new starts, work under way is finished');
    await Promise.all(loops.map((loop) => loop.stop()));
    await serving?.catch(() => {});
    await budgets.stop();
    await db.close();
    if (started) log.info({ event: 'stopped' }, 'stopped');
  }

  return {
    config,
    migrate: () => patiently(() => migrate(config.database), usualAttempts),
    ready: async ({ attempts = usualAttempts } = {}) => {
      await patiently(() => checkSchema(db, schema), attempts);
    },
    tick: ({ at } = {}) => explained(tick(scheduler, at?.getTime() ?? ports.now(), stopping.signal), explain),

    async drain({ signal } = {}) {
      if (stopping.signal.aborted) throw new SynclineError('CONFLICT', 'This Syncline has been stopped.');
      await patiently(() => checkSchema(db, schema), usualAttempts);
      const worker: Executor = startExecutor(executor);
      loops.push(worker);
      const over = new AbortController();
      const told = new Promise<void>((resolve) => {
        for (const one of [signal, stopping.signal]) {
          if (one?.aborted) resolve();
          one?.addEventListener('abort', () => resolve(), { once: true, signal: over.signal });
        }
      });
      await Promise.race([worker.drained(), told]);
      over.abort();
      await worker.stop();
      loops.splice(loops.indexOf(worker), 1);
      return worker.totals();
    },

    async start({ roles: wanted = roles } = {}) {
      for (const role of wanted) requireRole(role);
      if (started) throw new SynclineError('CONFLICT', 'This Syncline has been started already.');
      started = true;
      try {
        await patiently(() => checkSchema(db, schema), Number.POSITIVE_INFINITY);
      } catch (error) {
        started = false;
        // Told to stop while it waited for the database: that is no failure.
        if (!stopping.signal.aborted) throw error;
      }
      if (stopping.signal.aborted) return;
      loops.push(...wanted.map((role) => start[role]()));
      log.info({ roles: wanted, schema }, `started: ${wanted.join(', ')}`);
    },

    stop({ serving } = {}) {
      stopped ??= shutDown(serving);
      return stopped;
    },

    ...viewFor({ actor: 'api' }),
    as: viewFor,
    access: explainedAll(createAccess({ db, ports }), explain),
    ...explainedAll({ receive }, explain),
    authorizations: explainedAll({ finish: createFinish({ db, ports, vault, connectors, log }) }, explain),
    doctor: () => explained(examine({ db, ports, config, vault, explain }), explain),
    status: async () => {
      const schemaVersion = await explained(checkSchema(db, schema), explain);
      const tickedAt = await explained(lastTickAt(db), explain);
      const { tickIntervalSeconds } = config.scheduler;
      return { schemaVersion, lastTickAt: tickedAt, tickIntervalSeconds };
    },
  };
}

function requireRole(role: string): asserts role is Role {
  if (!(roles as readonly string[]).includes(role)) {
    throw new SynclineError('INVALID_ARGUMENT', `There is no role "${role}".`, {
      hint: suggestion(role, roles),
    });
  }
}
