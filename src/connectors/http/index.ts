import type { Connector } from '../../connector-kit/index.ts';
import { connectorOf } from './connector.ts';
import type { HttpDescription } from './description.ts';
import { readDescription } from './read.ts';
import { readYaml } from './yaml.ts';

export type { HttpDescription } from './description.ts';

export interface HttpConnectorOptions {
  /** Where `${env.NAME}` comes from; the process's environment unless given. */
  env?: NodeJS.ProcessEnv | undefined;
}

/** A connector for a JSON API, made of nothing but its description. Throws one error that lists all that is wrong with it. */
export function http(
  description: HttpDescription,
  { env = process.env }: HttpConnectorOptions = {},
): Connector {
  return connectorOf(readDescription(description, { env }), env);
}

/** As `http`, from YAML or from the path of a `.yaml` file; errors name the lines. */
export function httpFromYaml(
  textOrPath: string,
  { env = process.env }: HttpConnectorOptions = {},
): Connector {
  const { input, lineOf } = readYaml(textOrPath);
  return connectorOf(readDescription(input, { env, lineOf }), env);
}
