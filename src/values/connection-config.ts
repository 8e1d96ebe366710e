import type { Connector } from '../contract/connector.ts';
import { invalidArgument } from '../contract/errors.ts';
import { requireSmall } from './arguments.ts';
import { maxConfigBytes } from './limits.ts';
import { hidden, hiddenField } from './redact.ts';
import { check } from './standard-schema.ts';

/** Without the connector, checks only size and placeholders. */
export async function requireConfig(
  name: string,
  config: unknown,
  connector: Connector | undefined,
): Promise<void> {
  requireSmall(name, config, maxConfigBytes);
  const field = hiddenField(config);
  if (field !== undefined)
    throw invalidArgument({
      field: name,
      expected: `free of the placeholder "${hidden}"`,
      value: `one in field ${field}`,
      hint: 'Pass the actual value.',
    });
  const problem = connector?.configSchema && (await check(connector.configSchema, config ?? {})).problem;
  if (problem)
    throw invalidArgument({
      field: name,
      expected: `valid for connector "${connector?.provider}": ${problem}`,
      hint: 'Correct the listed fields.',
    });
}
