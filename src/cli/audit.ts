import type { Command } from 'commander';
import type { AuditEvent } from '../api/index.ts';
import { auditEventJson } from '../api/index.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { given, limitOf, withLimit } from './options.ts';
import { answer, outputWidth, table } from './output.ts';
import { collect } from './pages.ts';
import { relativeTime } from './time-text.ts';

interface ListOptions extends CommonOptions {
  connection?: string;
  tenant?: string;
  key?: string;
  kind?: string;
  limit: string;
}

export function addAudit(program: Command): void {
  const group = program.command('audit').description('show who changed what, logins and refused keys');
  const list = group
    .command('list')
    .description('list audit events, the newest first')
    .option('--connection <id>', 'only events of this connection')
    .option('--tenant <id>', 'only events of this tenant')
    .option('--key <id>', 'only events of this API key and its sessions')
    .option('--kind <kind>', 'only events of this kind, such as connection.paused');
  withLimit(list)
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline audit list --kind key.refused\n  $ syncline audit list --key 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --json',
    )
    .action(async (options: ListOptions) => {
      const { connection: connectionId, tenant: tenantId, key: keyId, kind } = options;
      const filter = given({ connectionId, tenantId, keyId, kind });
      const limit = limitOf(options);
      const { items } = await withEngine(options, ({ audit }) =>
        collect({ limit }, (page) => audit.list({ ...filter, ...page })),
      );
      answer(options.json, { events: items.map(auditEventJson) }, () =>
        items.length === 0 ? ['There are no such events.'] : eventTable(items),
      );
    });
}

function eventTable(events: AuditEvent[]): string[] {
  const rows = events.map(({ at, kind, actor, keyId, connectionId, reason, detail }) => [
    relativeTime(at),
    kind,
    actor,
    keyId ?? '-',
    connectionId ?? '-',
    reason ?? (detail === undefined ? '-' : JSON.stringify(detail)),
  ]);
  return table([['when', 'what', 'by', 'key', 'connection', 'reason or detail'], ...rows], {
    width: outputWidth(),
  });
}
