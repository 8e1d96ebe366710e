import type { Command } from 'commander';
import { requireUuid } from '../checks.ts';
import type { Connection } from '../connections.ts';
import type { ConnectionStatus } from '../store/connections.ts';
import type { Syncline } from '../syncline.ts';
import { connectionTable } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { connectionJson } from './json.ts';
import { given, limitOf, withLimit } from './options.ts';
import { answer } from './output.ts';

interface ListOptions extends CommonOptions {
  tenant?: string;
  provider?: string;
  status?: ConnectionStatus;
  limit: string;
  after?: string;
}

export function addConnectionsList(group: Command): void {
  const list = group
    .command('list')
    .description('list connections, about in the order in which they were added')
    .option('--tenant <id>', 'only those of this tenant')
    .option('--provider <slug>', 'only those of this provider')
    .option('--status <status>', 'only those that are active, paused, needs_auth or disabled')
    .option('--after <id>', 'go on after the connection with this id');
  withLimit(list)
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline connections list --status needs_auth\n  $ syncline connections list --provider github --limit 1000 --json',
    )
    .action(async (options: ListOptions) => {
      const { connections, nextAfter } = await withEngine(options, (syncline) => page(syncline, options));
      const json = { connections: connections.map(connectionJson), next_after: nextAfter ?? null };
      answer(options.json, json, () =>
        connections.length === 0
          ? ['There are no such connections.']
          : [...connectionTable(connections), ...(nextAfter ? [`More: --after ${nextAfter}`] : [])],
      );
    });
}

async function page(
  syncline: Syncline,
  options: ListOptions,
): Promise<{ connections: Connection[]; nextAfter: string | undefined }> {
  const { tenant, provider, status, after } = options;
  if (tenant !== undefined) requireUuid('--tenant', tenant);
  if (after !== undefined) requireUuid('--after', after);
  const filter = given({ tenantId: tenant, provider, status, after });
  const limit = limitOf(options);
  const connections = await syncline.connections.list({ ...filter, limit });
  const last = connections.length === limit ? connections.at(-1)?.id : undefined;
  if (last === undefined) return { connections, nextAfter: undefined };
  const more = await syncline.connections.list({ ...filter, after: last, limit: 1 });
  return { connections, nextAfter: more.length > 0 ? last : undefined };
}
