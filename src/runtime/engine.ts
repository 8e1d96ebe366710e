import type { Logger } from 'pino';
import type { Config } from '../config/settings.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import type { TickResult } from '../pipeline/events.ts';
import { type SchedulerContext, tick } from '../pipeline/tick.ts';
import type { Loop } from '../platform/loop.ts';
import type { Ports } from '../platform/ports.ts';
import { retry } from '../platform/retry.ts';
import { nextDueAt as findNextDueAt } from '../store/claims.ts';
import type { Database } from '../store/database.ts';
import { isTransient } from '../store/database-errors.ts';
import { type MigrationResult, migrate } from '../store/migrate.ts';
import { checkSchema, isOutdated } from '../store/schema-version.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { requireOneOf } from '../values/arguments.ts';
import { type ExecutorOptions, startExecutor, type WorkTotals } from './executor.ts';
import { watchFailures } from './failure-watch.ts';
import { pruneFor, startJanitor } from './janitor.ts';
import { startScheduler, tickOnce } from './scheduler.ts';

/** Any process may run any role. */
export const roles = ['scheduler', 'executor', 'janitor'] as const;
export type Role = (typeof roles)[number];

/** Runs the roles of this process: scheduler, executor and janitor. */
export interface Engine {
  /** Migrates the schema. Safe in many processes at once. */
  migrate(): Promise<MigrationResult>;
  /** Waits for the database and checks the schema version. */
  ready(options?: { attempts?: number }): Promise<void>;
  /** Runs the roles (default: all) until `stop`. */
  start(options?: { roles?: readonly Role[] }): Promise<void>;
  /** Lets work commit, waits for `serving` (open responses), closes connections. */
  stop(options?: { serving?: Promise<unknown> | undefined }): Promise<void>;
  /** One scheduler tick, as of `at`. */
  tick(options?: { at?: Date }): Promise<TickResult>;
  /**
   * Runs jobs until nothing is due or running. Rejects on errors that retries cannot fix (a missing grant),
   * and if the database is unreachable at the start (5 attempts) or later for two minutes.
   */
  drain(options?: { signal?: AbortSignal }): Promise<DrainResult>;
  /** Deletes what is past retention for at most `maxMs` (default: 10,000). False: the next call continues. */
  prune(options?: { maxMs?: number; signal?: AbortSignal }): Promise<boolean>;
}

/** What `drain` ran. */
export interface DrainResult extends WorkTotals {
  /** When the next job of this process's connectors is due. */
  nextDueAt: Date | undefined;
}

export interface EngineOptions {
  db: Database;
  config: Config;
  ports: Ports;
  telemetry: Telemetry;
  log: Logger;
  executor: ExecutorOptions;
  scheduler: SchedulerContext & { telemetry: Telemetry };
  explain: (error: unknown) => unknown;
  /** Repairs what a start must not build on. */
  repair: () => Promise<void>;
  withMissingGrants: (error: unknown) => Promise<unknown>;
  stopping: AbortController;
  /** After all work has ended. */
  close: () => Promise<void>;
}

/** Four pauses, 3.75 to 7.5 s in total: enough for a database restart. */
const defaultAttempts = 5;
const defaultPruneMs = 10_000;

export function createEngine(options: EngineOptions): { control: Engine; isRunning(): boolean } {
  const { db, config, ports, telemetry, log, executor, scheduler, explain, stopping } = options;
  const loops: Loop[] = [];
  let isStarted = false;
  let stopped: Promise<void> | undefined;

  const janitor = { db, ports, telemetry, config: config.retention };
  const startRole: Record<Role, () => Loop> = {
    scheduler: () => startScheduler(scheduler),
    executor: () => startExecutor(executor),
    janitor: () => startJanitor(janitor),
  };

  /** While the database is unreachable. */
  const withRetries = <T>(work: () => Promise<T>, attempts = defaultAttempts): Promise<T> =>
    retry(work, {
      ports,
      attempts,
      shouldRetry: isTransient,
      onRetry: (error, retryMs) =>
        log.warn(`${describeError(explain(error))} Retrying in ${(retryMs / 1000).toFixed(1)} s.`),
      signal: stopping.signal,
    });

  async function check(): Promise<number> {
    const version = await checkSchema(db, config.database.schema);
    await db.now();
    return version;
  }

  async function prepare(): Promise<void> {
    const version = await check();
    if (isOutdated(version))
      log.warn(`The schema is at version ${version}, of the previous release. Run \`syncline migrate\`.`);
    await options.repair();
  }

  async function start(startedRoles: readonly Role[]): Promise<void> {
    for (const role of startedRoles) requireOneOf('role', role, roles);
    if (isStarted) throw new SynclineError('CONFLICT', 'This Syncline instance is already started.');
    isStarted = true;
    try {
      await withRetries(prepare, Number.POSITIVE_INFINITY);
    } catch (error) {
      isStarted = false;
      // stop() during retries is no failure.
      if (!stopping.signal.aborted) throw error;
    }
    if (stopping.signal.aborted) return;
    loops.push(...startedRoles.map((role) => startRole[role]()));
    const { schema } = config.database;
    log.info({ roles: startedRoles, schema }, `started: ${startedRoles.join(', ')}`);
  }

  async function drain(signal: AbortSignal | undefined): Promise<DrainResult> {
    if (stopping.signal.aborted)
      throw new SynclineError('CONFLICT', 'This Syncline instance has been stopped.');
    await withRetries(prepare);
    const watch = watchFailures(telemetry, ports);
    const worker = startExecutor({ ...executor, telemetry: watch.telemetry });
    loops.push(worker);
    const aborted = firstAbort(signal, stopping.signal);
    const failed = await Promise.race([worker.drained(), aborted.promise, watch.hopeless]);
    aborted.forget();
    await worker.stop();
    loops.splice(loops.indexOf(worker), 1);
    if (failed) throw await options.withMissingGrants(explain(failed.error));
    const nextDueAt = signal?.aborted ? undefined : await findNextDueAt(db, [...executor.connectors.keys()]);
    return { ...worker.totals(), nextDueAt };
  }

  async function shutDown(serving: Promise<unknown> | undefined): Promise<void> {
    stopping.abort();
    if (isStarted)
      log.info({ event: 'shutdown' }, 'shutting down: finishing current work, starting nothing new');
    await Promise.all(loops.map((loop) => loop.stop()));
    await serving?.catch(() => {});
    await options.close();
    if (isStarted) log.info({ event: 'stopped' }, 'stopped');
  }

  const control: Engine = {
    migrate: () =>
      withRetries(() =>
        migrate(config.database, {
          ports,
          signal: stopping.signal,
          onProgress: (message) => log.warn(message),
        }),
      ),
    ready: async ({ attempts } = {}) => void (await withRetries(check, attempts)),
    start: ({ roles: startedRoles = roles } = {}) => start(startedRoles),
    stop: ({ serving } = {}) => {
      stopped ??= shutDown(serving);
      return stopped;
    },
    tick: ({ at } = {}) =>
      at ? tick(scheduler, at.getTime(), stopping.signal) : tickOnce(scheduler, stopping.signal),
    drain: ({ signal } = {}) => drain(signal),
    prune: ({ maxMs = defaultPruneMs, signal } = {}) =>
      pruneFor(janitor, { maxMs, signals: [stopping.signal, ...(signal ? [signal] : [])] }),
  };
  return { control, isRunning: () => loops.length > 0 };
}

function firstAbort(...signals: (AbortSignal | undefined)[]): { promise: Promise<void>; forget(): void } {
  const listeners = new AbortController();
  const promise = new Promise<void>((resolve) => {
    for (const source of signals) {
      if (source?.aborted) resolve();
      source?.addEventListener('abort', () => resolve(), { once: true, signal: listeners.signal });
    }
  });
  return { promise, forget: () => listeners.abort() };
}
