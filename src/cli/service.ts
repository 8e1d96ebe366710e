import type { Logger } from 'pino';
import type { LoadedConfig } from '../config/load.ts';
import { describeError } from '../errors.ts';
import { systemPorts } from '../ports.ts';
import type { Loop } from '../runtime/loop.ts';
import { compose, type Role, type Syncline } from '../syncline.ts';
import { type MetricsServer, startMetricsServer } from '../telemetry/prometheus.ts';

export interface ServiceOptions {
  loaded: LoadedConfig;
  log: Logger;
  roles?: readonly Role[] | undefined;
  /** What to do with the engine before it starts; a loop that it returns is stopped after the engine. */
  prepare?: (syncline: Syncline) => Promise<Loop | undefined>;
}

/** Runs the engine and its metrics endpoint until the process is told to end. */
export async function runService({ loaded, log, roles, prepare }: ServiceOptions): Promise<void> {
  const metrics = await serveMetrics(loaded, log);
  const syncline = compose(loaded.config, log, systemPorts, { meterProvider: metrics.meterProvider });
  const told = untilTold();
  const prepared = Promise.resolve(prepare?.(syncline));
  try {
    const started = prepared.then(() => syncline.start(roles ? { roles } : {}));
    await Promise.race([started, told]);
    log.info(await told);
  } finally {
    await syncline.stop();
    const companion = await prepared.catch(() => undefined);
    await companion?.stop();
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
async function serveMetrics({ config, entries }: LoadedConfig, log: Logger): Promise<MetricsServer> {
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
