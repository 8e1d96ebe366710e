import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { credentialJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import type { Secret } from '../contract/credential.ts';
import type { StoredCredential } from '../credentials/index.ts';
import { secretTypes } from '../credentials/index.ts';
import type { Syncline } from '../syncline.ts';
import { invalid, requireOneOf, requireUuid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, given, jsonObject, limitOf, withDoer, withLimit } from './options.ts';
import { answer, count, note, table } from './output.ts';
import { collect } from './pages.ts';
import {
  checkTenant,
  forTenant,
  type TenantOptions,
  withProviderRemedy,
  withTenant,
} from './tenant-option.ts';
import { fullTime, relativeTime } from './time-text.ts';

interface AddOptions extends SecretOptions, TenantOptions {
  provider: string;
  name?: string;
}

interface SecretOptions extends CommonOptions, AuditNote {
  kind?: string;
  fromEnv?: string;
}

const exampleId = '0190f5e2-7c1a-7000-8000-5f1e0c3a9b42';
const forms = `
The secret is read from standard input, or from the variable that --from-env names; never from the command line, which
others can see. It is written, by kind:
  api_key  the key
  basic    user:password
  oauth2   the access token, or JSON: {"access_token":…,"refresh_token":…,"expires_at":…}
  custom   a JSON object`;

export function addCredentials(program: Command): void {
  const group = program
    .command('credentials')
    .description('store what opens providers, encrypted, and make the keys that encrypt it');
  addKeygen(group);
  addAdd(group);
  addListAndShow(group);
  addReplaceAndRemove(group);
  addRotate(group);
}

function addKeygen(group: Command): void {
  group
    .command('keygen')
    .description('make a key for SYNCLINE_CREDENTIALS_KEYS')
    .addHelpText('after', '\nExample:\n  $ export SYNCLINE_CREDENTIALS_KEYS="$(syncline credentials keygen)"')
    .action((options: CommonOptions) => {
      const key = newKey();
      answer(options.json, { key }, () => [key]);
      if (process.stdout.isTTY && !options.json)
        note(
          'Set SYNCLINE_CREDENTIALS_KEYS to it in every process, and keep a copy: what it encrypts opens with nothing else.',
        );
    });
}

/** The id only tells keys apart. */
const newKey = () => `k${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}`;

function addAdd(group: Command): void {
  const command = withTenant(
    group.command('add').description('store a credential of a tenant'),
    'whose it is',
  )
    .requiredOption('--provider <slug>', 'what it opens, such as github')
    .option('--kind <kind>', `one of ${secretTypes.join(', ')}`, 'api_key')
    .option('--name <text>', 'what it is, for people')
    .option('--from-env <name>', 'the variable that holds the secret');
  withDoer(command)
    .addHelpText(
      'after',
      `${forms}\n\nExamples:\n  $ syncline credentials add --tenant ${exampleId} --provider github < token.txt\n  $ syncline credentials add --tenant-name Northwind --provider github < token.txt\n  $ syncline credentials add --tenant ${exampleId} --provider crm --kind oauth2 --from-env CRM_TOKENS`,
    )
    .action(async (options: AddOptions) => {
      checkTenant(options);
      const secret = await readSecret(options.kind ?? 'api_key', options.fromEnv);
      const made = await withEngine(options, (syncline) => create(syncline, options, secret));
      answer(options.json, credentialJson(made), () => ['Stored a credential.', ...credentialLines(made)]);
    });
}

function create(syncline: Syncline, options: AddOptions, secret: Secret): Promise<StoredCredential> {
  const { provider, name } = options;
  const remedy = 'Add a connector for it to syncline.config.ts, or correct --provider.';
  return forTenant(syncline, options, (tenantId) =>
    syncline.credentials
      .create({ tenantId, provider, secret, ...given({ name }) }, doerOf(options))
      .catch(withProviderRemedy(provider, remedy)),
  );
}

function addListAndShow(group: Command): void {
  withLimit(group.command('list').description('list credentials, without their secrets'))
    .option('--tenant <id>', 'only those of this tenant')
    .option('--provider <slug>', 'only those for this provider')
    .addHelpText('after', '\nExample:\n  $ syncline credentials list --provider github --json')
    .action(async (options: CommonOptions & { limit: string; tenant?: string; provider?: string }) => {
      const limit = limitOf(options);
      const { tenant: tenantId, provider } = options;
      if (tenantId !== undefined) requireUuid('--tenant', tenantId);
      const { items } = await withEngine(options, ({ credentials }) =>
        collect({ limit }, (page) => credentials.list({ ...page, tenantId, provider })),
      );
      answer(options.json, { credentials: items.map(credentialJson) }, () =>
        items.length === 0 ? ['There are no credentials.'] : credentialTable(items),
      );
    });

  group
    .command('show')
    .description('show what is known of a credential, without its secret')
    .argument('<id>', 'the id of the credential')
    .addHelpText('after', `\nExample:\n  $ syncline credentials show ${exampleId}`)
    .action(async (id: string, options: CommonOptions) => {
      const found = await withEngine(options, ({ credentials }) => credentials.get(id));
      answer(options.json, credentialJson(found), () => credentialLines(found));
    });
}

function addReplaceAndRemove(group: Command): void {
  const replacing = group
    .command('replace')
    .description('put another secret in place of one; connections that waited for it run again')
    .argument('<id>', 'the id of the credential')
    .option('--kind <kind>', `one of ${secretTypes.join(', ')}; as it was unless given`)
    .option('--from-env <name>', 'the variable that holds the secret');
  withDoer(replacing)
    .addHelpText(
      'after',
      `${forms}\n\nExample:\n  $ syncline credentials replace ${exampleId} --reason "it had leaked" < token.txt`,
    )
    .action(async (id: string, options: SecretOptions) => {
      const changed = await withEngine(options, async ({ credentials }) => {
        const { kind } = await credentials.get(id);
        const secret = await readSecret(options.kind ?? kind, options.fromEnv);
        return credentials.replace(id, secret, doerOf(options));
      });
      answer(options.json, credentialJson(changed), () => [`Credential ${id} is replaced.`]);
    });

  withDoer(
    group
      .command('remove')
      .description('delete a credential that no connection uses')
      .argument('<id>', 'the id of the credential'),
  )
    .addHelpText('after', `\nExample:\n  $ syncline credentials remove ${exampleId}`)
    .action(async (id: string, options: CommonOptions & AuditNote) => {
      await withEngine(options, ({ credentials }) => credentials.remove(id, doerOf(options)));
      answer(options.json, { id, removed: true }, () => [`Credential ${id} is deleted.`]);
    });
}

function addRotate(group: Command): void {
  group
    .command('rotate')
    .description('encrypt anew, with the first key, whatever is under another one')
    .addHelpText(
      'after',
      `
Running processes go on meanwhile, and it can be stopped and run again. To change keys: add the new one at the end of
SYNCLINE_CREDENTIALS_KEYS in every process, then put it first in every process, then run this, then remove the old one.

Example:
  $ syncline credentials rotate`,
    )
    .action(async (options: CommonOptions) => {
      const done = await withEngine(options, ({ credentials }) =>
        credentials.rotate(({ rotated }) => {
          if (rotated > 0 && !options.json) note(`… ${count(rotated, 'secret')} so far`);
        }),
      );
      answer(options.json, done, () => [`${count(done.rotated, 'secret')} encrypted anew.`]);
      if (done.unopened === 0) return;
      note(
        `${count(done.unopened, 'secret')} could not be opened with any configured key, and stayed as before.`,
      );
      process.exitCode = 1;
    });
}

/** More is no secret, but a file that was given by mistake. */
const maxBytes = 256 * 1024;

async function readSecret(kind: string, variable: string | undefined): Promise<Secret> {
  requireOneOf('--kind', kind, secretTypes);
  const text = (variable === undefined ? await readInput() : readVariable(variable)).replace(/\r?\n$/, '');
  if (text === '')
    throw invalid('The secret is empty.', 'Send it to standard input, or name a variable with --from-env.');
  switch (kind as Secret['type']) {
    case 'api_key':
      return { type: 'api_key', key: text };
    case 'custom':
      return { type: 'custom', fields: jsonObject('The secret', text) };
    case 'basic': {
      const [, username, password] = /^([^:]+):(.*)$/s.exec(text) ?? [];
      if (username === undefined || password === undefined)
        throw invalid('The secret of kind basic must be written as user:password.');
      return { type: 'basic', username, password };
    }
    case 'oauth2':
      return oauth2Secret(text);
  }
}

function oauth2Secret(text: string): Secret {
  if (!text.trimStart().startsWith('{')) return { type: 'oauth2', accessToken: text };
  const tokens = jsonObject('The secret', text);
  // Checked, with everything else, where it is stored.
  return {
    type: 'oauth2',
    accessToken: tokens['access_token'] as string,
    refreshToken: tokens['refresh_token'] as string | undefined,
    expiresAt: tokens['expires_at'] as string | undefined,
    scope: tokens['scope'] as string | undefined,
  };
}

function readVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw invalid(`The variable ${name}, which --from-env names, is not set.`);
  return value;
}

async function readInput(): Promise<string> {
  if (process.stdin.isTTY) note('Type or paste the secret, then end it with Ctrl-D on a line of its own.');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw invalid(`The secret is larger than ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function credentialLines(credential: StoredCredential): string[] {
  return table([
    ['id', credential.id],
    ['tenant', credential.tenantId],
    ['provider', credential.provider],
    ['name', credential.name ?? '-'],
    ['kind', credential.kind],
    ['state', stateOf(credential)],
    ['expires', fullTime(credential.expiresAt)],
    ['last renewed', fullTime(credential.refreshedAt)],
    ['connections', String(credential.connections)],
    ['created', fullTime(credential.createdAt)],
    ['updated', fullTime(credential.updatedAt)],
  ]);
}

function credentialTable(credentials: StoredCredential[]): string[] {
  const rows = credentials.map((one) => [
    one.id,
    one.tenantId,
    one.provider,
    one.kind,
    String(one.connections),
    relativeTime(one.updatedAt),
    stateOf(one),
    one.name ?? '-',
  ]);
  return table([['id', 'tenant', 'provider', 'kind', 'used by', 'changed', 'state', 'name'], ...rows]);
}

const stateOf = ({ refusedAt, refusedReason }: StoredCredential) =>
  refusedAt ? `refused ${relativeTime(refusedAt)}: ${refusedReason ?? '-'}` : 'good';
