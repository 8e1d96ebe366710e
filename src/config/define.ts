import type { Connector } from '../contract/connector.ts';
import type { ConfigOptions } from './settings.ts';

/** The default export of `syncline.config.ts`: settings and connectors. */
export interface ConfigFile<C extends Connector = Connector> extends ConfigOptions {
  connectors?: readonly C[];
}

/** Types the configuration file. */
export function defineConfig<C extends Connector = Connector>(file: ConfigFile<C>): ConfigFile<C> {
  return file;
}
