import type { Connector } from '../contract/connector.ts';
import type { ConfigOptions } from './settings.ts';

export interface ConfigFile extends ConfigOptions {
  connectors?: readonly Connector[];
}

/** For `syncline.config.ts`. */
export function defineConfig(file: ConfigFile): ConfigFile {
  return file;
}
