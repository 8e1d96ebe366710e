import { loadConfigFile } from '../config/file.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Connector } from '../contract/connector.ts';
import type { Syncline, TelemetryProviders } from '../index.ts';
import { logTo, terminal } from './terminal.ts';

export interface CommonOptions {
  json?: boolean;
  config?: string;
}

export interface CliConfig extends LoadedConfig {
  connectors: readonly Connector[];
}

/** Default: the database of a running `syncline dev`. */
export async function loadCliConfig({ config }: CommonOptions): Promise<CliConfig> {
  const { cwd, env } = terminal();
  const file = await loadConfigFile(config, cwd);
  const connectors = file?.connectors ?? [];
  const loaded = loadConfig({ env, file });
  if (loaded.config.database.url !== undefined) return { ...loaded, connectors };
  // A configured database needs no embedded one.
  const { findDevKey, findRunningPostgres, possibleDataFolders } = await import('../dev/index.ts');
  const embedded = possibleDataFolders(cwd)
    .map(findRunningPostgres)
    .find((url) => url !== undefined);
  if (embedded === undefined) return { ...loaded, connectors };
  const key = loaded.config.credentials.keys.length === 0 ? findDevKey(cwd) : undefined;
  const devOptions = {
    database: { url: embedded },
    ...(key !== undefined && { credentials: { keys: [key] } }),
  };
  const devLoaded = loadConfig({ options: devOptions, env, file });
  const entries = devLoaded.entries.map((entry) =>
    entry.from.startsWith('option ') ? { ...entry, from: 'syncline dev, running in this directory' } : entry,
  );
  return { ...devLoaded, entries, connectors };
}

/** Logs go to stderr. */
export async function withEngine<T>(
  options: CommonOptions,
  work: (syncline: Syncline, loaded: CliConfig) => Promise<T>,
  { checkReady = true, providers = {} }: { checkReady?: boolean; providers?: TelemetryProviders } = {},
): Promise<T> {
  const loaded = await loadCliConfig(options);
  // `config` needs no engine.
  const { createSyncline } = await import('../index.ts');
  const { createLogger } = await import('../platform/log.ts');
  const log = createLogger({
    level: quietLevel(loaded),
    readable: terminal().stderr.isTTY === true && !options.json,
    to: logTo('stderr'),
  });
  const { config, connectors } = loaded;
  const syncline = createSyncline({ ...config, connectors, logger: log, telemetry: providers });
  try {
    if (checkReady) await syncline.ready();
    return await work(syncline, loaded);
  } finally {
    await syncline.stop();
  }
}

export const noConnectors = 'No connectors are configured: add them to syncline.config.ts.';

function quietLevel({ config, entries }: LoadedConfig): string {
  return entries.find(({ path }) => path === 'log.level')?.from === 'default' ? 'warn' : config.log.level;
}
