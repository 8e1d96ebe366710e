import type { Command } from 'commander';
import type { ApiKey } from '../api/index.ts';
import { keyJson } from '../api/index.ts';
import { invalid, requireUuid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, limitOf, withLimit } from './options.ts';
import { answer, count, table } from './output.ts';
import { collect } from './pages.ts';
import { relativeTime } from './time-text.ts';

interface CreateOptions extends CommonOptions {
  name: string;
  tenant?: string;
  operator?: boolean;
}

export function addKeys(program: Command): void {
  const group = program.command('keys').description('make and revoke the keys of the API and the dashboard');

  group
    .command('create')
    .description('make a key; it is shown once')
    .requiredOption('--name <text>', 'what it is for')
    .option('--tenant <id>', 'it opens what belongs to this tenant')
    .option('--operator', 'it opens everything')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline keys create --operator --name "on call"\n  $ syncline keys create --tenant 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --name "their backend" --json',
    )
    .action(async (options: CreateOptions) => {
      const { name, tenant, operator } = options;
      if ((tenant === undefined) === (operator !== true))
        throw invalid(
          'A key is for one tenant or for the operator.',
          'Give either --tenant <id> or --operator.',
        );
      if (tenant !== undefined) requireUuid('--tenant', tenant);
      const actor = doerOf({}).actor as string;
      const made = await withEngine(options, (syncline) =>
        syncline.as({ actor }).keys.create({ name, ...(tenant !== undefined && { tenantId: tenant }) }),
      );
      answer(options.json, { ...keyJson(made), key: made.key }, () => [
        made.key,
        'Keep it now: it is not shown again. Send it as "Authorization: Bearer …", or log in with it.',
      ]);
    });

  withLimit(group.command('list').description('list keys, the newest first'))
    .addHelpText('after', '\nExample:\n  $ syncline keys list --json')
    .action(async (options: CommonOptions & { limit: string }) => {
      const limit = limitOf(options);
      const { items } = await withEngine(options, ({ keys }) =>
        collect({ limit }, (page) => keys.list(page)),
      );
      answer(options.json, { keys: items.map(keyJson) }, () =>
        items.length === 0 ? ['There are no keys.'] : keyTable(items),
      );
    });

  group
    .command('revoke')
    .description('revoke a key and its sessions')
    .argument('<id>', 'the id of the key, as `keys list` shows it')
    .option('--descendants', 'also revoke the keys created with it, with those keys, and so on')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline keys revoke 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42\n  $ syncline keys revoke 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --descendants',
    )
    .action(async (id: string, options: CommonOptions & { descendants?: boolean }) => {
      const actor = doerOf({}).actor as string;
      const done = await withEngine(options, (syncline) =>
        syncline.as({ actor }).keys.revoke(id, { descendants: options.descendants === true }),
      );
      const json = { id, revoked: true, revoked_keys: done.revoked, valid_descendants: done.descendants };
      answer(options.json, json, () => revokedLines(id, done));
    });
}

function revokedLines(
  id: string,
  { revoked, descendants }: { revoked: number; descendants: number },
): string[] {
  const keys = (n: number) => count(n, 'key');
  return [
    revoked > 1 ? `Key ${id} is revoked: ${keys(revoked)} with its descendants.` : `Key ${id} is revoked.`,
    ...(descendants > 0
      ? [
          descendants === 1
            ? '1 key created with it still works. Revoke it too: --descendants.'
            : `${keys(descendants)} created with it still work. Revoke them too: --descendants.`,
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
    key.revokedAt ? `revoked ${relativeTime(key.revokedAt)}` : 'in use',
    key.name,
  ]);
  return table([['id', 'begins', 'opens', 'made', 'used', 'state', 'name'], ...rows]);
}
