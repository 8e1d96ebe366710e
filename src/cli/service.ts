import type { Logger } from 'pino';
import type { LoadedConfig } from '../config/load.ts';
import { describeError } from '../errors.ts';
import { systemPorts } from '../ports.ts';
import { compose, type Role, type Syncline } from '../syncline.ts';
import { type MetricsServer, startMetricsServer } from '../telemetry/prometheus.ts';

export interface ServiceOptions {
  loaded: LoadedConfig;
  log: Logger;
  roles?: readonly Role[] | undefined;
  /** What to do with the engine before it starts. */
  prepare?: (syncline: Syncline) => Promise<void>;
}

/** Runs the engine and its metrics endpoint until the process is told to end. */
export async function runService({ loaded, log, roles, prepare }: ServiceOptions): Promise<void> {
  const metrics = await serveMetrics(loaded, log);
  const syncline = compose(loaded.config, log, systemPorts, { meterProvider: metrics.meterProvider });
  const told = untilTold();
  try {
    await prepare?.(syncline);
    await Promise.race([syncline.start(roles ? { roles } : {}), told.signal]);
    log.info(await told.signal);
  } finally {
    told.forget();
    await syncline.stop();
    await metrics.close();
  }
}

/** SCH-9: the first signal asks for an orderly end; a second one does not wait for it. */
function untilTold(): { signal: Promise<string>; forget: () => void } {
  const names = ['SIGINT', 'SIGTERM'] as const;
  let heard = false;
  let hear = (_sentence: string) => {};
  const signal = new Promise<string>((resolve) => {
    hear = resolve;
  });
  const onSignal = (name: string) => {
    if (heard) process.exit(1);
    heard = true;
    hear(`received ${name}`);
  };
  for (const name of names) process.on(name, onSignal);
  return {
    signal,
    forget: () => {
      // Still listening, so that an impatient second Ctrl-C ends the process at once.
      heard = true;
    },
  };
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
