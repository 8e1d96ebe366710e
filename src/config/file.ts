import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createJiti } from 'jiti';
import { describeError, SynclineError } from '../errors.ts';
import type { ConfigOptions } from './settings.ts';

/** The names a configuration file may have, in the working directory. */
const fileNames = ['syncline.config.ts', 'syncline.config.js', 'syncline.config.mjs'];

/** Gives `syncline.config.ts` its types. */
export function defineConfig(options: ConfigOptions): ConfigOptions {
  return options;
}

/** Loads the configuration file: the one named, else the one in the folder, else none. */
export async function loadConfigFile(
  named?: string,
  folder = process.cwd(),
): Promise<{ path: string; options: ConfigOptions } | undefined> {
  const name = named ?? fileNames.find((candidate) => existsSync(resolve(folder, candidate)));
  if (name === undefined) return undefined;
  const path = resolve(folder, name);
  if (!existsSync(path)) {
    throw new SynclineError('CONFIG_INVALID', `The configuration file ${name} does not exist.`, {
      hint: `Name an existing file, or put ${fileNames[0]} into the working directory.`,
    });
  }
  return { path: name, options: await importDefault(path, name) };
}

async function importDefault(path: string, name: string): Promise<ConfigOptions> {
  const jiti = createJiti(pathToFileURL(path).href, { interopDefault: true });
  const options = await jiti.import(path, { default: true }).catch((cause: unknown) => {
    throw new SynclineError('CONFIG_INVALID', `${name} could not be loaded: ${describeError(cause)}`, {
      cause,
    });
  });
  return options as ConfigOptions;
}
