import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Connector } from '../contract/connector.ts';
import { describeError, SynclineError } from '../contract/errors.ts';
import { isObject } from '../values/is-object.ts';
import type { ConfigFile } from './define.ts';
import type { ConfigOptions } from './settings.ts';

const fileNames = ['syncline.config.ts', 'syncline.config.js', 'syncline.config.mjs'];

export interface LoadedFile {
  path: string;
  options: ConfigOptions;
  connectors: readonly Connector[];
}

export async function loadConfigFile(
  named?: string,
  folder = process.cwd(),
): Promise<LoadedFile | undefined> {
  const name = named ?? fileNames.find((candidate) => existsSync(resolve(folder, candidate)));
  if (name === undefined) return undefined;
  const path = resolve(folder, name);
  if (!existsSync(path)) {
    throw new SynclineError('CONFIG_INVALID', `The configuration file ${name} does not exist.`, {
      hint: `Name an existing file, or put ${fileNames[0]} into the working directory.`,
    });
  }
  const exported = await importDefault(path, name);
  // loadConfig rejects values that are not objects.
  if (!isObject(exported)) return { path: name, options: exported as ConfigOptions, connectors: [] };
  const { connectors = [], ...options } = exported as ConfigFile;
  return { path: name, options, connectors };
}

async function importDefault(path: string, name: string): Promise<unknown> {
  // Slow to load.
  const { createJiti } = await import('jiti');
  const jiti = createJiti(pathToFileURL(path).href, { interopDefault: true });
  return jiti.import(path, { default: true }).catch((cause: unknown) => {
    throw new SynclineError('CONFIG_INVALID', `${name} could not be loaded: ${describeError(cause)}`, {
      cause,
    });
  });
}
