import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import type { Secret } from '../contract/credential.ts';
import { secretTypes } from '../contract/credential.ts';
import { invalidArgument } from '../contract/errors.ts';
import { type AuditNote, credentialJson, type StoredCredential, type Syncline } from '../index.ts';
import { requireOneOf, requireUuid } from '../values/arguments.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, jsonObject, limitOf, unsetVariable, withAuditNote, withLimit } from './options.ts';
import { count, note, printResult, table } from './output.ts';
import { collect } from './pages.ts';
import { type TenantOptions, tenantOf, withProviderHint, withTenant } from './tenant-option.ts';
import { terminal } from './terminal.ts';
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
const formats = `
The secret is read from standard input or from the environment variable named by --from-env, never from the
command line, which other users can see. Formats by kind:
  api_key  the key
  basic    user:password
  oauth2   the access token, or JSON: {"access_token":…,"refresh_token":…,"expires_at":…}
  custom   a JSON object`;

export function addCredentials(program: Command): void {
  const group = program.command('credentials').description('manage encrypted provider credentials');
  addKeygen(group);
  addAdd(group);
  addListAndShow(group);
  addReplaceAndDelete(group);
  addRotate(group);
}

function addKeygen(group: Command): void {
  group
    .command('keygen')
    .description('generate an encryption key for SYNCLINE_CREDENTIALS_KEYS')
    .addHelpText('after', '\nExample:\n  $ export SYNCLINE_CREDENTIALS_KEYS="$(syncline credentials keygen)"')
    .action((options: CommonOptions) => {
      const key = newKey();
      printResult(options.json, { key }, () => [key]);
      if (terminal().stdout.isTTY && !options.json)
        note(
          'Set SYNCLINE_CREDENTIALS_KEYS to this key in every process, and back it up: ' +
            'without it, stored credentials cannot be decrypted.',
        );
    });
}

/** The public id before the colon selects the key. */
const newKey = () => `k${randomBytes(4).toString('hex')}:${randomBytes(32).toString('base64')}`;

function addAdd(group: Command): void {
  const command = withTenant(
    group.command('add').description('store a credential for a tenant'),
    'tenant of the credential',
  )
    .requiredOption('--provider <slug>', 'provider, such as github')
    .option('--kind <kind>', `kind of secret: ${secretTypes.join(', ')}`, 'api_key')
    .option('--name <text>', 'display name')
    .option('--from-env <name>', 'environment variable with the secret');
  withAuditNote(command)
    .addHelpText(
      'after',
      `${formats}

Examples:
  $ syncline credentials add --tenant ${exampleId} --provider github < token.txt
  $ syncline credentials add --tenant-name Northwind --provider github < token.txt
  $ syncline credentials add --tenant ${exampleId} --provider crm --kind oauth2 --from-env CRM_TOKENS`,
    )
    .action(async (options: AddOptions) => {
      tenantOf(options); // before it reads the secret
      const secret = await readSecret(options.kind ?? 'api_key', options.fromEnv);
      const stored = await withEngine(options, (syncline) => create(syncline, options, secret));
      printResult(options.json, credentialJson(stored), () => [
        'Credential stored.',
        ...credentialLines(stored),
      ]);
    });
}

function create(syncline: Syncline, options: AddOptions, secret: Secret): Promise<StoredCredential> {
  const { provider, name } = options;
  const hint = 'Add a connector for it to syncline.config.ts, or correct --provider.';
  return syncline.credentials
    .create({ ...tenantOf(options), provider, secret, ...omitUndefined({ name }) }, auditNoteOf(options))
    .catch(withProviderHint(hint));
}

function addListAndShow(group: Command): void {
  withLimit(group.command('list').description('list credentials, without their secrets'))
    .option('--tenant <id>', 'filter by tenant')
    .option('--provider <slug>', 'filter by provider')
    .addHelpText('after', '\nExample:\n  $ syncline credentials list --provider github --json')
    .action(async (options: CommonOptions & { limit: string; tenant?: string; provider?: string }) => {
      const limit = limitOf(options);
      const { tenant: tenantId, provider } = options;
      if (tenantId !== undefined) requireUuid('--tenant', tenantId);
      const { items } = await withEngine(options, ({ credentials }) =>
        collect({ limit }, (page) => credentials.list({ ...page, tenantId, provider })),
      );
      printResult(options.json, { credentials: items.map(credentialJson) }, () =>
        items.length === 0 ? ['No credentials found.'] : credentialTable(items),
      );
    });

  group
    .command('show')
    .description('show a credential, without its secret')
    .argument('<id>', 'credential ID')
    .addHelpText('after', `\nExample:\n  $ syncline credentials show ${exampleId}`)
    .action(async (id: string, options: CommonOptions) => {
      const found = await withEngine(options, ({ credentials }) => credentials.get(id));
      printResult(options.json, credentialJson(found), () => credentialLines(found));
    });
}

function addReplaceAndDelete(group: Command): void {
  const replacing = group
    .command('replace')
    .description('replace the secret of a credential; connections in needs_auth become active')
    .argument('<id>', 'credential ID')
    .option('--kind <kind>', `kind of secret: ${secretTypes.join(', ')} (default: unchanged)`)
    .option('--from-env <name>', 'environment variable with the secret');
  withAuditNote(replacing)
    .addHelpText(
      'after',
      `${formats}\n\nExample:\n  $ syncline credentials replace ${exampleId} --reason "leaked" < token.txt`,
    )
    .action(async (id: string, options: SecretOptions) => {
      const replaced = await withEngine(options, async ({ credentials }) => {
        const { kind } = await credentials.get(id);
        const secret = await readSecret(options.kind ?? kind, options.fromEnv);
        return credentials.replace(id, secret, auditNoteOf(options));
      });
      printResult(options.json, credentialJson(replaced), () => [`Credential ${id} is replaced.`]);
    });

  withAuditNote(
    group
      .command('delete')
      .description('delete a credential that no connection uses')
      .argument('<id>', 'credential ID'),
  )
    .addHelpText('after', `\nExample:\n  $ syncline credentials delete ${exampleId}`)
    .action(async (id: string, options: CommonOptions & AuditNote) => {
      await withEngine(options, ({ credentials }) => credentials.delete(id, auditNoteOf(options)));
      printResult(options.json, { id, deleted: true }, () => [`Credential ${id} is deleted.`]);
    });
}

function addRotate(group: Command): void {
  group
    .command('rotate')
    .description('re-encrypt all secrets with the first key of SYNCLINE_CREDENTIALS_KEYS')
    .addHelpText(
      'after',
      `
You can run, interrupt and repeat this command while processes run. To change keys: append the new key to
SYNCLINE_CREDENTIALS_KEYS in every process; then move it to the front in every process; then run this
command; then remove the old key.

Example:
  $ syncline credentials rotate`,
    )
    .action(async (options: CommonOptions) => {
      const result = await withEngine(options, ({ credentials }) =>
        credentials.rotate(({ rotated }) => {
          if (rotated > 0 && !options.json) note(`… ${count(rotated, 'secret')} re-encrypted`);
        }),
      );
      printResult(options.json, result, () => [`Re-encrypted ${count(result.rotated, 'secret')}.`]);
      if (result.unopened === 0) return;
      note(
        `${count(result.unopened, 'secret')} could not be decrypted with the configured keys and did not change. ` +
          'Add the missing key to SYNCLINE_CREDENTIALS_KEYS.',
      );
      terminal().exitCode = 1;
    });
}

/** Probably the wrong file. */
const maxBytes = 256 * 1024;

async function readSecret(kind: string, variable: string | undefined): Promise<Secret> {
  requireOneOf('--kind', kind, secretTypes);
  const text = (variable === undefined ? await readInput() : readVariable(variable)).replace(/\r?\n$/, '');
  if (text === '')
    throw invalidArgument({
      field: 'The secret',
      expected: 'text on standard input, or in a variable with --from-env',
      value: 'nothing',
    });
  switch (kind as Secret['type']) {
    case 'api_key':
      return { type: 'api_key', key: text };
    case 'custom':
      return { type: 'custom', fields: jsonObject('The secret', text) };
    case 'basic': {
      const [, username, password] = /^([^:]+):(.*)$/s.exec(text) ?? [];
      if (username === undefined || password === undefined)
        throw invalidArgument({ field: 'A secret of kind basic', expected: 'of the form user:password' });
      return { type: 'basic', username, password };
    }
    case 'oauth2':
      return oauth2Secret(text);
  }
}

function oauth2Secret(text: string): Secret {
  if (!text.trimStart().startsWith('{')) return { type: 'oauth2', accessToken: text };
  const tokens = jsonObject('The secret', text);
  return {
    type: 'oauth2',
    accessToken: tokens['access_token'] as string,
    refreshToken: tokens['refresh_token'] as string | undefined,
    expiresAt: tokens['expires_at'] as string | undefined,
    scope: tokens['scope'] as string | undefined,
  };
}

function readVariable(name: string): string {
  const value = terminal().env[name];
  if (value === undefined) throw unsetVariable('--from-env', name);
  return value;
}

async function readInput(): Promise<string> {
  const { stdin } = terminal();
  if (stdin.isTTY) note('Type or paste the secret, then press Ctrl-D on an empty line.');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of stdin) {
    length += chunk.length;
    if (length > maxBytes)
      throw invalidArgument({
        field: 'The secret',
        expected: `at most ${maxBytes} bytes`,
        value: 'more',
      });
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
    ['last refreshed', fullTime(credential.refreshedAt)],
    ['connections', String(credential.connections)],
    ['created', fullTime(credential.createdAt)],
    ['updated', fullTime(credential.updatedAt)],
  ]);
}

function credentialTable(credentials: StoredCredential[]): string[] {
  const rows = credentials.map((credential) => [
    credential.id,
    credential.tenantId,
    credential.provider,
    credential.kind,
    String(credential.connections),
    relativeTime(credential.updatedAt),
    stateOf(credential),
    credential.name ?? '-',
  ]);
  return table([['id', 'tenant', 'provider', 'kind', 'connections', 'updated', 'state', 'name'], ...rows]);
}

const stateOf = ({ refusedAt, refusedReason }: StoredCredential) =>
  refusedAt ? `refused ${relativeTime(refusedAt)}: ${refusedReason ?? '-'}` : 'valid';
