import type { Command } from 'commander';
import { type ApiKey, keyJson } from '../index.ts';
import { invalid, requireUuid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, limitOf, withLimit } from './options.ts';
import { count, printResult, table } from './output.ts';
import { collect } from './pages.ts';
import { relativeTime } from './time-text.ts';

interface CreateOptions extends CommonOptions {
  name: string;
  tenant?: string;
  operator?: boolean;
}

export function addKeys(program: Command): void {
  const group = program.command('keys').description('manage keys for the API and the dashboard');

  group
    .command('create')
    .description('create a key and print it once')
    .requiredOption('--name <text>', 'name of the key')
    .option('--tenant <id>', 'grant access to this tenant (this or --operator)')
    .option('--operator', 'grant access to all tenants (this or --tenant)')
    .addHelpText(
      'after',
      `
Examples:
  $ syncline keys create --operator --name "on call"
  $ syncline keys create --tenant 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --name "customer backend" --json`,
    )
    .action(async (options: CreateOptions) => {
      const { name, tenant, operator } = options;
      if ((tenant === undefined) === (operator !== true))
        throw invalid(
          'Exactly one of --tenant and --operator is required.',
          'Pass --tenant <id> or --operator.',
        );
      if (tenant !== undefined) requireUuid('--tenant', tenant);
      const actor = auditNoteOf({}).actor as string;
      const created = await withEngine(options, (syncline) =>
        syncline.as({ actor }).keys.create({ name, ...(tenant !== undefined && { tenantId: tenant }) }),
      );
      printResult(options.json, { ...keyJson(created), key: created.key }, () => [
        created.key,
        'Save it now: it is not shown again. Send it as "Authorization: Bearer …", or log in with it.',
      ]);
    });

  withLimit(group.command('list').description('list keys, newest first'))
    .addHelpText('after', '\nExample:\n  $ syncline keys list --json')
    .action(async (options: CommonOptions & { limit: string }) => {
      const limit = limitOf(options);
      const { items } = await withEngine(options, ({ keys }) =>
        collect({ limit }, (page) => keys.list(page)),
      );
      printResult(options.json, { keys: items.map(keyJson) }, () =>
        items.length === 0 ? ['No keys found.'] : keyTable(items),
      );
    });

  group
    .command('revoke')
    .description('revoke a key and its sessions')
    .argument('<id>', 'key ID, from `keys list`')
    .option('--descendants', 'also revoke keys created with this key, recursively')
    .addHelpText(
      'after',
      `
Examples:
  $ syncline keys revoke 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42
  $ syncline keys revoke 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --descendants`,
    )
    .action(async (id: string, options: CommonOptions & { descendants?: boolean }) => {
      const actor = auditNoteOf({}).actor as string;
      const result = await withEngine(options, (syncline) =>
        syncline.as({ actor }).keys.revoke(id, { descendants: options.descendants === true }),
      );
      const { revoked, descendants } = result;
      const json = { id, revoked: true, revoked_keys: revoked, valid_descendants: descendants };
      printResult(options.json, json, () => revokedLines(id, result));
    });
}

function revokedLines(
  id: string,
  { revoked, descendants }: { revoked: number; descendants: number },
): string[] {
  const keys = (n: number) => count(n, 'key');
  return [
    revoked > 1 ? `Key ${id} is revoked: ${keys(revoked)} including descendants.` : `Key ${id} is revoked.`,
    ...(descendants > 0
      ? [
          descendants === 1
            ? '1 key created with it is still valid; revoke it with --descendants.'
            : `${keys(descendants)} created with it are still valid; revoke them with --descendants.`,
        ]
      : []),
  ];
}

function keyTable(keys: ApiKey[]): string[] {
  const rows = keys.map((key) => [
    key.id,
    `${key.prefix}…`,
    key.tenantId ?? 'operator',
    relativeTime(key.createdAt),
    relativeTime(key.lastUsedAt),
    key.revokedAt ? `revoked ${relativeTime(key.revokedAt)}` : 'active',
    key.name,
  ]);
  return table([['id', 'prefix', 'scope', 'created', 'last used', 'status', 'name'], ...rows]);
}
