import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { Connector } from '../contract/connector.ts';
import type { Secret } from '../contract/credential.ts';
import { describeError } from '../contract/errors.ts';
import type { Replay } from '../testing/index.ts';
import { recordTraffic, replayTraffic } from '../testing/index.ts';
import { invalid } from '../values/arguments.ts';
import { check } from '../values/standard-schema.ts';
import { jsonObject } from './options.ts';

/** What commands that run a connector without an engine have in common. */
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
    .argument('<file>', 'the file that exports the connector')
    .option('--config <json>', 'what the connector is told: a JSON object')
    .addOption(new Option('--config-file <file>', 'the same, from a file').conflicts('config'))
    .option('--credential-from-env <name>', 'the API key is in this variable of the environment')
    .addOption(
      new Option(
        '--credential-file <file>',
        'the credential is in this file: a key, or JSON such as {"type":"basic","username":"…","password":"…"}',
      ).conflicts('credentialFromEnv'),
    )
    .option('--record <file>', 'write what goes to the provider and comes back to this file, secrets hidden')
    .addOption(
      new Option('--replay <file>', 'answer from such a file instead of asking the provider').conflicts(
        'record',
      ),
    )
    .option('--verbose', 'show what the connector logs, every request among it');
}

/** Refused here rather than by a first run, and in the schema's own words. */
export async function configOf(
  { config, configFile }: InputOptions,
  { configSchema }: Connector,
): Promise<Record<string, unknown>> {
  const option = configFile === undefined ? '--config' : '--config-file';
  const text = configFile === undefined ? (config ?? '{}') : readInput('--config-file', configFile);
  const value = jsonObject(option, text);
  const problem = configSchema && (await check(configSchema, value)).problem;
  if (problem)
    throw invalid(
      `${option} is not what the connector's configSchema wants: ${problem}.`,
      config === undefined && configFile === undefined ? "Give it with --config '{…}'." : 'Correct it.',
    );
  return value;
}

export function credentialOf({ credentialFromEnv, credentialFile }: InputOptions): Secret | undefined {
  if (credentialFile !== undefined) return secretIn(readInput('--credential-file', credentialFile));
  if (credentialFromEnv === undefined) return undefined;
  const key = process.env[credentialFromEnv];
  if (!key)
    throw invalid(
      `--credential-from-env names ${credentialFromEnv}, which is not set.`,
      `Set it first, such as with: export ${credentialFromEnv}=…`,
    );
  return secretIn(key);
}

/** The value is not shown in any error: it is a secret. */
function secretIn(text: string): Secret {
  const trimmed = text.trim();
  if (trimmed === '') throw invalid('The credential is empty.', 'Give a key, or JSON with its type.');
  if (!trimmed.startsWith('{')) return { type: 'api_key', key: trimmed };
  const fields = jsonObject('The credential', trimmed);
  const wanted = {
    api_key: ['key'],
    basic: ['username', 'password'],
    oauth2: ['accessToken'],
    custom: ['fields'],
  };
  const type = fields['type'] as keyof typeof wanted;
  const names = Object.hasOwn(wanted, type) ? wanted[type] : undefined;
  const missing = names?.find((name) => fields[name] === undefined);
  if (!names || missing)
    throw invalid(
      names ? `The credential has no ${missing}.` : 'The credential has a type that does not exist, or none.',
      'It must be a key, or JSON: {"type":"api_key","key":…}, {"type":"basic","username":…,"password":…}, {"type":"oauth2","accessToken":…} or {"type":"custom","fields":{…}}.',
    );
  return fields as unknown as Secret;
}

/** What requests go out through: the network, a recording that is made, or one that is played. */
export function trafficOf(
  { record, replay }: InputOptions,
  credential: Secret | undefined,
  { repeat = false } = {},
): { fetch?: typeof fetch; replay?: Replay } {
  if (replay !== undefined) {
    const played = replayTraffic(replay, { repeat });
    return { fetch: played, replay: played };
  }
  return record === undefined ? {} : { fetch: recordTraffic(record, { secrets: textsOf(credential) }) };
}

/** Every text of a credential, but for its type. */
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
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid(
      `${option} is ${file}, which cannot be read: ${describeError(error)}.`,
      'Name a file that can be read.',
    );
  }
}
