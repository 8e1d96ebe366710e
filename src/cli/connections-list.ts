import type { Command } from 'commander';
import { type ConnectionStatus, connectionStatuses } from '../contract/states.ts';
import { connectionJson } from '../index.ts';
import { requireOneOf, requireUuid } from '../values/arguments.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { connectionCells, connectionHead } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { limitOf, withLimit } from './options.ts';
import { printList } from './pages.ts';

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
    .description('list connections, ordered by id (creation time)')
    .option('--tenant <id>', 'filter by tenant')
    .option('--provider <slug>', 'filter by provider')
    .option('--status <status>', 'filter by status: active, paused, needs_auth or disabled')
    .option('--cursor <text>', 'cursor printed after the previous page');
  withLimit(list)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connections list --status needs_auth
  $ syncline connections list --provider github --limit 1000 --json`,
    )
    .action(async (options: ListOptions) => {
      const { tenant, provider, status, cursor } = options;
      if (tenant !== undefined) requireUuid('--tenant', tenant);
      if (status !== undefined) requireOneOf('--status', status, connectionStatuses);
      const filter = omitUndefined({ tenantId: tenant, provider, status });
      const limit = limitOf(options);
      await withEngine(options, ({ connections }) =>
        printList({ json: options.json, limit, cursor }, (page) => connections.list({ ...filter, ...page }), {
          name: 'connections',
          jsonOf: connectionJson,
          head: connectionHead,
          cellsOf: connectionCells,
          empty: 'No connections found.',
          withCursor: true,
        }),
      );
    });
}
