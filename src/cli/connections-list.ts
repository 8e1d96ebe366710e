import type { Command } from 'commander';
import { connectionJson } from '../api/index.ts';
import type { ConnectionStatus } from '../index.ts';
import { requireUuid } from '../values/arguments.ts';
import { connectionTable } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { given, limitOf, withLimit } from './options.ts';
import { answer } from './output.ts';
import { collect } from './pages.ts';

interface ListOptions extends CommonOptions {
  tenant?: string;
  provider?: string;
  status?: ConnectionStatus;
  limit: string;
  cursor?: string;
}

export function addConnectionsList(group: Command): void {
  const list = group
    .command('list')
    .description('list connections, about in the order in which they were added')
    .option('--tenant <id>', 'only those of this tenant')
    .option('--provider <slug>', 'only those of this provider')
    .option('--status <status>', 'only those that are active, paused, needs_auth or disabled')
    .option('--cursor <text>', 'go on where an earlier list ended');
  withLimit(list)
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline connections list --status needs_auth\n  $ syncline connections list --provider github --limit 1000 --json',
    )
    .action(async (options: ListOptions) => {
      const { tenant, provider, status, cursor } = options;
      if (tenant !== undefined) requireUuid('--tenant', tenant);
      const filter = given({ tenantId: tenant, provider, status });
      const limit = limitOf(options);
      const { items, nextCursor } = await withEngine(options, ({ connections }) =>
        collect({ limit, cursor }, (page) => connections.list({ ...filter, ...page })),
      );
      const json = { connections: items.map(connectionJson), next_cursor: nextCursor ?? null };
      answer(options.json, json, () =>
        items.length === 0
          ? ['There are no such connections.']
          : [...connectionTable(items), ...(nextCursor ? [`More: --cursor ${nextCursor}`] : [])],
      );
    });
}
