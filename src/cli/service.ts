import type { Logger } from 'pino';
import { describeError } from '../contract/errors.ts';
import type { DemoProviders, HttpServer, LocalLogin } from '../http/index.ts';
import { createSyncline, type Role, roles, type Syncline } from '../index.ts';
import { createLogger } from '../platform/log.ts';
import { systemPorts } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { offerDashboard } from './dashboard-access.ts';
import { type CliConfig, type CommonOptions, loadCliConfig, noConnectors } from './engine.ts';
import type { MetricsServer } from './metrics-server.ts';
import { shutdownSignal } from './shutdown-signal.ts';
import { logTo, terminal } from './terminal.ts';

export const serviceRoles = [...roles, 'server'] as const;
export type ServiceRole = Role | 'server';

export interface ServiceOptions {
  loaded: CliConfig;
  log: Logger;
  roles?: readonly ServiceRole[] | undefined;
  /** The log is not JSON. */
  readable: boolean;
  prepare?: (syncline: Syncline) => Promise<void>;
  /** Prints a login link, and replaces a taken default port. */
  isDev?: boolean;
  demo?: DemoProviders | undefined;
  tips?: readonly string[];
}

export async function serve(options: CommonOptions, selected?: readonly ServiceRole[]): Promise<void> {
  const loaded = await loadCliConfig(options);
  const readable = terminal().stdout.isTTY === true && !options.json;
  const log = createLogger({ level: loaded.config.log.level, readable, to: logTo('stdout') });
  if ((selected ?? serviceRoles).includes('executor') && loaded.connectors.length === 0)
    log.warn(noConnectors);
  await runService({ loaded, log, readable, roles: selected });
}

export async function runService(options: ServiceOptions): Promise<void> {
  const { loaded, log, roles: selected = serviceRoles, prepare } = options;
  // Before logging: a supervisor may send SIGTERM on output.
  const shutdown = shutdownSignal();
  const stopping = new AbortController();
  void shutdown.then(() => stopping.abort());
  const metrics = await serveMetrics(loaded, log);
  const syncline = createSyncline({
    ...loaded.config,
    connectors: loaded.connectors,
    logger: log,
    telemetry: { meterProvider: metrics.meterProvider },
  });
  const prepared = Promise.resolve(prepare?.(syncline));
  let server: HttpServer | undefined;
  let withdrawDashboard = () => {};
  try {
    const started = prepared.then(async () => {
      const localLogin = await newLocalLogin(syncline);
      if (selected.includes('server')) server = await serveHttp(options, syncline, metrics, localLogin);
      const engineRoles = selected.filter((role) => role !== 'server');
      const startedMs = syncline.ports.now();
      if (engineRoles.length > 0) await syncline.start({ roles: engineRoles });
      if (!server) return;
      if (options.readable && engineRoles.includes('scheduler'))
        await firstTick(syncline, startedMs, stopping.signal);
      if (stopping.signal.aborted) return;
      const { readable, isDev: showsLink = false, tips = [] } = options;
      withdrawDashboard = offerDashboard({ url: server.url, localLogin, log, readable, showsLink, tips });
    });
    await Promise.race([started, shutdown]);
    log.info(await shutdown);
    exitAfterDeadline(loaded, log);
  } finally {
    withdrawDashboard();
    await syncline.stop({ serving: server?.close() });
    await prepared.catch(() => {});
    await metrics.close();
  }
}

/** After the grace: exits before Kubernetes kills it (30 s). */
export const closingMs = 5000;

/** A stalled socket would block. Leases and fencing cover unfinished jobs. */
function exitAfterDeadline({ config }: CliConfig, log: Logger): void {
  const exit = () => {
    log.warn(
      { event: 'abandoned' },
      'shutdown timed out, probably because the database does not respond; exiting. ' +
        'Executors requeue the unfinished jobs when the lease of this process expires.',
    );
    process.exit(0);
  };
  const deadlineMs = config.executor.shutdownGraceSeconds * 1000 + closingMs;
  startTimer(systemPorts, deadlineMs, exit, { ref: false });
}

const firstTickMs = 3000;
const firstTickPollMs = 50;

/** Before the dashboard's address is logged. */
async function firstTick({ status, ports }: Syncline, startedMs: number, signal: AbortSignal): Promise<void> {
  const deadlineMs = ports.monotonicMs() + firstTickMs;
  while (!signal.aborted && ports.monotonicMs() < deadlineMs) {
    const { lastTickAt } = await status();
    if (lastTickAt && lastTickAt.getTime() >= startedMs) return;
    await ports.sleep(firstTickPollMs, signal);
  }
}

async function newLocalLogin({ ports }: Syncline): Promise<LocalLogin> {
  // Slow to load.
  const { createLocalLogin } = await import('../http/index.ts');
  return createLocalLogin(ports.monotonicMs);
}

async function serveHttp(
  { loaded, log, isDev, demo }: ServiceOptions,
  syncline: Syncline,
  metrics: MetricsServer,
  localLogin: LocalLogin,
): Promise<HttpServer> {
  const { startHttpService } = await import('../http/index.ts');
  const { port } = loaded.config.server;
  const listen = (actualPort: number) =>
    startHttpService({ syncline, log, metrics: metrics.text, localLogin, demo, port: actualPort });
  // The printed link names the port.
  const server = isDev ? await onPort(loaded, 'server.port', port, log, listen) : await listen(port);
  log.info({ url: server.url }, `API at ${server.url}/v1, documentation at ${server.url}/docs`);
  return server;
}

async function serveMetrics(loaded: CliConfig, log: Logger): Promise<MetricsServer> {
  // Other commands would start 20 % slower.
  const { startMetricsServer } = await import('./metrics-server.ts');
  const { host, port } = loaded.config.metrics;
  const server = await onPort(loaded, 'metrics.port', port, log, (actualPort) =>
    startMetricsServer({ host, port: actualPort }),
  );
  log.info({ url: server.url }, `metrics at ${server.url}`);
  return server;
}

async function onPort<T>(
  { entries }: CliConfig,
  setting: string,
  port: number,
  log: Logger,
  listen: (port: number) => Promise<T>,
): Promise<T> {
  const isDefault = entries.find(({ path }) => path === setting)?.from === 'default';
  return listen(port).catch((error: unknown) => {
    if (!isDefault) throw error;
    log.warn(`${describeError(error)} Using another port.`);
    return listen(0);
  });
}
