import type { Logger } from 'pino';
import { loadConfigFile } from '../config/file.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Connector } from '../contract/connector.ts';
import { findDevKey, findRunningPostgres, possibleDataFolders } from '../dev/index.ts';
import { systemPorts } from '../platform/ports.ts';
import { compose, type Syncline } from '../syncline.ts';
import type { TelemetryProviders } from '../telemetry/index.ts';
import { createLogger } from '../telemetry/index.ts';

/** The options that every command has. */
export interface CommonOptions {
  json?: boolean;
  config?: string;
}

/** A configuration, and the connectors of its file. */
export interface CliConfig extends LoadedConfig {
  connectors: readonly Connector[];
}

/**
 * Loads the configuration as the command line sees it: the file in the working folder, and the environment. Where no
 * database is named and `syncline dev` is running in this folder, its database.
 */
export async function loadCliConfig({ config }: CommonOptions): Promise<CliConfig> {
  const file = await loadConfigFile(config);
  const connectors = file?.connectors ?? [];
  const loaded = loadConfig({ env: process.env, file });
  const embedded = loaded.config.database.url === undefined ? findEmbedded() : undefined;
  if (embedded === undefined) return { ...loaded, connectors };
  const key = loaded.config.credentials.keys.length === 0 ? findDevKey(process.cwd()) : undefined;
  const ofDev = { database: { url: embedded }, ...(key !== undefined && { credentials: { keys: [key] } }) };
  const found = loadConfig({ options: ofDev, env: process.env, file });
  const entries = found.entries.map((entry) =>
    entry.from.startsWith('option ') ? { ...entry, from: 'syncline dev, running in this folder' } : entry,
  );
  return { ...found, entries, connectors };
}

function findEmbedded(): string | undefined {
  return possibleDataFolders(process.cwd())
    .map(findRunningPostgres)
    .find((url) => url !== undefined);
}

/** Runs one command on the engine and closes it. Standard output is the command's answer, so logs go to standard error. */
export async function withEngine<T>(
  options: CommonOptions,
  work: (syncline: Syncline, loaded: CliConfig) => Promise<T>,
  { checkReady = true, providers = {} }: { checkReady?: boolean; providers?: TelemetryProviders } = {},
): Promise<T> {
  const loaded = await loadCliConfig(options);
  const log = createLogger({
    level: quietLevel(loaded),
    readable: process.stderr.isTTY && !options.json,
    to: 'stderr',
  });
  warnAll(log, loaded);
  const { config, connectors } = loaded;
  const syncline = compose({ config, log, ports: systemPorts, connectors, providers });
  try {
    if (checkReady) await syncline.ready();
    return await work(syncline, loaded);
  } finally {
    await syncline.stop();
  }
}

/** Said by commands that could run nothing. */
export const noConnectors = 'No connectors are configured: add them to syncline.config.ts.';

export function warnAll(log: Logger, { warnings }: LoadedConfig): void {
  for (const warning of warnings) log.warn(warning);
}

/** A command that answers a question logs only what is wrong, unless a level was asked for. */
function quietLevel({ config, entries }: LoadedConfig): string {
  return entries.find(({ path }) => path === 'log.level')?.from === 'default' ? 'warn' : config.log.level;
}
