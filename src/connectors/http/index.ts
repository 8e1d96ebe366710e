import type { Connector } from '../../connector-kit/index.ts';
import { connectorOf } from './connector.ts';
import type { HttpDescription } from './description.ts';
import { readDescription } from './read.ts';
import { readYaml } from './yaml.ts';

export type { HttpDescription } from './description.ts';

export interface HttpConnectorOptions {
  /** Source of `${env.NAME}`. Default: `process.env`. */
  env?: NodeJS.ProcessEnv | undefined;
}

export interface TypedDescription<Provider extends string> extends Omit<HttpDescription, 'provider'> {
  provider: Provider;
}

/** Creates a connector from a description. The error lists all problems. */
export function http<const Provider extends string>(
  description: TypedDescription<Provider>,
  { env = process.env }: HttpConnectorOptions = {},
): Connector<Provider> {
  return connectorOf(readDescription(description, { env }), env) as Connector<Provider>;
}

/** From YAML text or a `.yaml` file; errors name lines. */
export function httpFromYaml(
  textOrPath: string,
  { env = process.env }: HttpConnectorOptions = {},
): Connector {
  const { input, lineOf } = readYaml(textOrPath);
  return connectorOf(readDescription(input, { env, lineOf }), env);
}
