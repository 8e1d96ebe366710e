import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { Connector } from '../contract/connector.ts';
import type { Secret } from '../contract/credential.ts';
import { describeError, invalidArgument } from '../contract/errors.ts';
import type { Replay } from '../testing/index.ts';
import { recordTraffic, replayTraffic } from '../testing/index.ts';
import { invalid, show } from '../values/arguments.ts';
import { check } from '../values/standard-schema.ts';
import { jsonObject, unsetVariable } from './options.ts';
import { pathOf, terminal } from './terminal.ts';

export interface InputOptions {
  config?: string;
  configFile?: string;
  credentialFromEnv?: string;
  credentialFile?: string;
  record?: string;
  replay?: string;
  json?: boolean;
  verbose?: boolean;
}

export function withInput(command: Command): Command {
  return command
    .argument('<file>', 'file that exports the connector')
    .option('--config <json>', 'connector configuration, as a JSON object')
    .addOption(
      new Option('--config-file <file>', 'read the connector configuration from a file').conflicts('config'),
    )
    .option('--credential-from-env <name>', 'environment variable with the API key')
    .addOption(
      new Option(
        '--credential-file <file>',
        'file with the credential: a key, or JSON such as {"type":"basic","username":"…","password":"…"}',
      ).conflicts('credentialFromEnv'),
    )
    .option('--record <file>', 'record requests and responses to a file; secrets are redacted')
    .addOption(
      new Option('--replay <file>', 'replay a recording instead of sending requests').conflicts('record'),
    )
    .option('--verbose', 'print the connector log, including requests');
}

export async function configOf(
  { config, configFile }: InputOptions,
  { configSchema }: Connector,
): Promise<Record<string, unknown>> {
  const option = configFile === undefined ? '--config' : '--config-file';
  const text = configFile === undefined ? (config ?? '{}') : readInput('--config-file', configFile);
  const value = jsonObject(option, text);
  const problem = configSchema && (await check(configSchema, value)).problem;
  if (problem)
    throw invalidArgument({
      field: option,
      expected: `valid for the connector's configSchema: ${problem}`,
      hint: config === undefined && configFile === undefined ? "Pass it with --config '{…}'." : 'Correct it.',
    });
  return value;
}

export function credentialOf({ credentialFromEnv, credentialFile }: InputOptions): Secret | undefined {
  if (credentialFile !== undefined) return secretIn(readInput('--credential-file', credentialFile));
  if (credentialFromEnv === undefined) return undefined;
  const key = terminal().env[credentialFromEnv];
  if (!key) throw unsetVariable('--credential-from-env', credentialFromEnv);
  return secretIn(key);
}

/** The value is a secret. */
function secretIn(text: string): Secret {
  const trimmed = text.trim();
  if (trimmed === '')
    throw invalidArgument({
      field: 'The credential',
      expected: 'a key, or JSON with its type',
      value: 'nothing',
    });
  if (!trimmed.startsWith('{')) return { type: 'api_key', key: trimmed };
  const fields = jsonObject('The credential', trimmed);
  const requiredFields = {
    api_key: ['key'],
    basic: ['username', 'password'],
    oauth2: ['accessToken'],
    custom: ['fields'],
  };
  const type = fields['type'] as keyof typeof requiredFields;
  const names = Object.hasOwn(requiredFields, type) ? requiredFields[type] : undefined;
  const missing = names?.find((name) => fields[name] === undefined);
  if (!names || missing)
    throw invalid(
      names ? `The credential has no ${missing}.` : 'The credential type is unknown or missing.',
      'It must be a key, or JSON: {"type":"api_key","key":…}, ' +
        '{"type":"basic","username":…,"password":…}, {"type":"oauth2","accessToken":…} ' +
        'or {"type":"custom","fields":{…}}.',
    );
  return fields as unknown as Secret;
}

export function trafficOf(
  { record, replay }: InputOptions,
  credential: Secret | undefined,
  { repeat = false } = {},
): { fetch?: typeof fetch; replay?: Replay } {
  if (replay !== undefined) {
    const player = replayTraffic(pathOf(replay), { repeat });
    return { fetch: player, replay: player };
  }
  return record === undefined
    ? {}
    : { fetch: recordTraffic(pathOf(record), { secrets: textsOf(credential) }) };
}

function textsOf(credential: Secret | undefined): string[] {
  const { type: _, ...rest } = credential ?? { type: undefined };
  const texts = (value: unknown): string[] =>
    typeof value === 'string'
      ? [value]
      : typeof value === 'object' && value
        ? Object.values(value).flatMap(texts)
        : [];
  return texts(rest);
}

export function readInput(option: string, file: string): string {
  try {
    return readFileSync(pathOf(file), 'utf8');
  } catch (error) {
    throw invalidArgument({
      field: option,
      expected: 'a readable file',
      value: `${show(file)} (${describeError(error)})`,
    });
  }
}
