import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { systemPorts } from '../ports.ts';
import { compose, type Role, type Syncline } from '../syncline.ts';
import { createLogger } from '../telemetry/log.ts';
import type { MetricsServer } from '../telemetry/prometheus.ts';
import { type CliConfig, type CommonOptions, loadCliConfig, noConnectors, warnAll } from './engine.ts';
import { untilTold } from './told.ts';

export interface ServiceOptions {
  loaded: CliConfig;
  log: Logger;
  roles?: readonly Role[] | undefined;
  /** What to do with the engine before it starts. */
  prepare?: (syncline: Syncline) => Promise<void>;
}

/** Runs the given roles, all unless given, as configured. Standard output is its log. */
export async function serve(options: CommonOptions, roles?: readonly Role[]): Promise<void> {
  const loaded = await loadCliConfig(options);
  const readable = process.stdout.isTTY && !options.json;
  const log = createLogger({ level: loaded.config.log.level, readable, to: 'stdout' });
  warnAll(log, loaded);
  if (roles?.includes('executor') && loaded.connectors.length === 0) log.warn(noConnectors);
  await runService({ loaded, log, roles });
}

/** Runs the engine and its metrics endpoint until the process is told to end. */
export async function runService({ loaded, log, roles, prepare }: ServiceOptions): Promise<void> {
  const metrics = await serveMetrics(loaded, log);
  const syncline = compose({
    ...loaded,
    log,
    ports: systemPorts,
    providers: { meterProvider: metrics.meterProvider },
  });
  const told = untilTold();
  const prepared = Promise.resolve(prepare?.(syncline));
  try {
    const started = prepared.then(() => syncline.start(roles ? { roles } : {}));
    await Promise.race([started, told]);
    log.info(await told);
  } finally {
    await syncline.stop();
    await prepared.catch(() => {});
    await metrics.close();
  }
}

/** A port that was asked for must be had; the default may be taken by another Syncline on this machine. */
async function serveMetrics({ config, entries }: CliConfig, log: Logger): Promise<MetricsServer> {
  // Only here, because every other command would take a fifth longer to start.
  const { startMetricsServer } = await import('../telemetry/prometheus.ts');
  const { host, port } = config.metrics;
  const isDefault = entries.find(({ path }) => path === 'metrics.port')?.from === 'default';
  const server = await startMetricsServer({ host, port }).catch((error: unknown) => {
    if (!isDefault) throw error;
    log.warn(`${describeError(error)} Another port is used for now.`);
    return startMetricsServer({ host, port: 0 });
  });
  log.info({ url: server.url }, `metrics at ${server.url}`);
  return server;
}
