import type { Logger } from 'pino';
import { describeError } from '../errors.ts';
import { systemPorts } from '../ports.ts';
import { compose, type Role, type Syncline } from '../syncline.ts';
import { type MetricsServer, startMetricsServer } from '../telemetry/prometheus.ts';
import type { CliConfig } from './engine.ts';

export interface ServiceOptions {
  loaded: CliConfig;
  log: Logger;
  roles?: readonly Role[] | undefined;
  /** What to do with the engine before it starts. */
  prepare?: (syncline: Syncline) => Promise<void>;
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

/** One Ctrl-C can arrive twice, from the terminal and from npm; a person who presses it again is slower than this. */
const sameSignalMs = 1000;

/** SCH-9: the first signal asks for an orderly end; a later one does not wait for it. */
function untilTold(): Promise<string> {
  return new Promise((resolve) => {
    let heardMs: number | undefined;
    const hear = (name: string) => {
      const nowMs = systemPorts.monotonicMs();
      heardMs ??= nowMs;
      if (nowMs - heardMs > sameSignalMs) process.exit(1);
      resolve(`received ${name}`);
    };
    process.on('SIGINT', hear);
    process.on('SIGTERM', hear);
  });
}

/** A port that was asked for must be had; the default may be taken by another Syncline on this machine. */
async function serveMetrics({ config, entries }: CliConfig, log: Logger): Promise<MetricsServer> {
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
