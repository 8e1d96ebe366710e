import type { Command } from 'commander';
import { type AuditEvent, auditEventJson } from '../index.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { limitOf, withLimit } from './options.ts';
import { outputWidth } from './output.ts';
import { printList } from './pages.ts';
import { relativeTime } from './time-text.ts';

interface ListOptions extends CommonOptions {
  connection?: string;
  tenant?: string;
  key?: string;
  kind?: string;
  limit: string;
}

export function addAudit(program: Command): void {
  const group = program.command('audit').description('show the audit log: changes, logins and rejected keys');
  const list = group
    .command('list')
    .description('list audit events, newest first')
    .option('--connection <id>', 'filter by connection')
    .option('--tenant <id>', 'filter by tenant')
    .option('--key <id>', 'filter by API key, including its sessions')
    .option('--kind <kind>', 'filter by kind, such as connection.paused');
  withLimit(list)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline audit list --kind key.refused
  $ syncline audit list --key 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --json`,
    )
    .action(async (options: ListOptions) => {
      const { connection: connectionId, tenant: tenantId, key: keyId, kind } = options;
      const filter = omitUndefined({ connectionId, tenantId, keyId, kind });
      const limit = limitOf(options);
      await withEngine(options, ({ audit }) =>
        printList({ json: options.json, limit }, (page) => audit.list({ ...filter, ...page }), {
          name: 'events',
          jsonOf: auditEventJson,
          head: ['time', 'kind', 'actor', 'key', 'connection', 'reason or detail'],
          cellsOf,
          width: outputWidth(),
          empty: 'No events found.',
        }),
      );
    });
}

function cellsOf({ at, kind, actor, keyId, connectionId, reason, detail }: AuditEvent): string[] {
  return [
    relativeTime(at),
    kind,
    actor,
    keyId ?? '-',
    connectionId ?? '-',
    reason ?? (detail === undefined ? '-' : JSON.stringify(detail)),
  ];
}
