import type { Logger } from 'pino';
import { describeError } from '../contract/errors.ts';
import type { HttpServer } from '../http/index.ts';
import { systemPorts } from '../platform/ports.ts';
import { compose, type Role, roles, type Syncline } from '../syncline.ts';
import type { MetricsServer } from '../telemetry/index.ts';
import { createLogger } from '../telemetry/index.ts';
import { type CliConfig, type CommonOptions, loadCliConfig, noConnectors, warnAll } from './engine.ts';
import { shutdownSignal } from './shutdown-signal.ts';

/** What a process of the command line can do: the roles of the engine, and serve the API and the dashboard. */
export const serviceRoles = [...roles, 'server'] as const;
export type ServiceRole = Role | 'server';

export interface ServiceOptions {
  loaded: CliConfig;
  log: Logger;
  roles?: readonly ServiceRole[] | undefined;
  /** What to do with the engine before it starts. */
  prepare?: (syncline: Syncline) => Promise<void>;
  /** Prints an address with a token that opens the dashboard once, without a key. */
  localLogin?: boolean;
}

/** Runs the given roles, all unless given, as configured. Standard output is its log. */
export async function serve(options: CommonOptions, wanted?: readonly ServiceRole[]): Promise<void> {
  const loaded = await loadCliConfig(options);
  const readable = process.stdout.isTTY && !options.json;
  const log = createLogger({ level: loaded.config.log.level, readable, to: 'stdout' });
  warnAll(log, loaded);
  if ((wanted ?? serviceRoles).includes('executor') && loaded.connectors.length === 0) log.warn(noConnectors);
  await runService({ loaded, log, roles: wanted });
}

/** Runs the engine, its metrics endpoint and its server until the process is told to end. */
export async function runService(options: ServiceOptions): Promise<void> {
  const { loaded, log, roles: wanted = serviceRoles, prepare } = options;
  // Before anything is said: whoever hears it may have us end at once.
  const told = shutdownSignal();
  const metrics = await serveMetrics(loaded, log);
  const syncline = compose({
    ...loaded,
    log,
    ports: systemPorts,
    providers: { meterProvider: metrics.meterProvider },
  });
  const prepared = Promise.resolve(prepare?.(syncline));
  let server: HttpServer | undefined;
  try {
    const started = prepared.then(async () => {
      if (wanted.includes('server')) server = await serveHttp(options, syncline, metrics);
      const engineRoles = wanted.filter((role) => role !== 'server');
      if (engineRoles.length > 0) await syncline.start({ roles: engineRoles });
    });
    await Promise.race([started, told]);
    log.info(await told);
    endInAnyCase(loaded, log);
  } finally {
    await syncline.stop({ serving: server?.close() });
    await prepared.catch(() => {});
    await metrics.close();
  }
}

/**
 * What the database may add to the time that runs have to finish. With that time as it is unless set, the process ends before
 * Kubernetes kills it, 30 s after it was told.
 */
const closingMs = 5000;

/** A statement on a socket that stalled would be waited for much longer. Leases and fences see to what is left behind. */
function endInAnyCase({ config }: CliConfig, log: Logger): void {
  const giveUp = () => {
    log.warn(
      { event: 'abandoned' },
      'not everything could be closed in time, probably because the database does not answer; ended all the same. What still ran goes back into the queue when the lease is over.',
    );
    process.exit(0);
  };
  setTimeout(giveUp, config.executor.shutdownGraceSeconds * 1000 + closingMs).unref();
}

async function serveHttp(
  { loaded, log, localLogin: isLocal }: ServiceOptions,
  syncline: Syncline,
  metrics: MetricsServer,
): Promise<HttpServer> {
  // Only here, because every other command would start later for it.
  const { createLocalLogin, startHttpService } = await import('../http/index.ts');
  const localLogin = isLocal ? createLocalLogin() : undefined;
  const { port } = loaded.config.server;
  const listen = (chosen: number) =>
    startHttpService({ syncline, log, metrics: metrics.text, localLogin, port: chosen });
  // Where people are to find it, it must be; on one's own machine the address is printed anyway.
  const server = isLocal ? await onPort(loaded, 'server.port', port, log, listen) : await listen(port);
  log.info({ url: server.url }, `API at ${server.url}/v1, its documentation at ${server.url}/docs`);
  if (localLogin) log.info(`dashboard, opens once: ${server.url}/login?token=${localLogin.token}`);
  else log.info(`dashboard at ${server.url}; log in with a key from \`syncline keys create\``);
  return server;
}

async function serveMetrics(loaded: CliConfig, log: Logger): Promise<MetricsServer> {
  // Only here, because every other command would take a fifth longer to start.
  const { startMetricsServer } = await import('../telemetry/prometheus.ts');
  const { host, port } = loaded.config.metrics;
  const server = await onPort(loaded, 'metrics.port', port, log, (chosen) =>
    startMetricsServer({ host, port: chosen }),
  );
  log.info({ url: server.url }, `metrics at ${server.url}`);
  return server;
}

/** A port that was asked for must be had; the default may be taken by another Syncline on this machine. */
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
    log.warn(`${describeError(error)} Another port is used for now.`);
    return listen(0);
  });
}
