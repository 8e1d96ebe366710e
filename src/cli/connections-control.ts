import type { Command } from 'commander';
import { type JobType, jobTypes } from '../contract/states.ts';
import { type AuditNote, connectionJson, type TriggerResult, triggerJson } from '../index.ts';
import { requireOneOf } from '../values/arguments.ts';
import { priorities } from '../values/limits.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, wholeNumber, withAuditNote } from './options.ts';
import { printResult } from './output.ts';

export function addConnectionsControl(group: Command): void {
  addSwitch(group, 'pause', {
    description: 'pause a connection: no run starts until it is resumed',
    exampleReason: 'provider maintenance',
  });
  addSwitch(group, 'resume', {
    description: 'resume a connection; its due jobs run immediately',
    exampleReason: 'maintenance finished',
  });

  const trigger = group
    .command('trigger')
    .description('sync a connection now; if a run is in progress, request another run after it')
    .argument('<id>', 'connection ID')
    .option('--type <type>', 'job type: incremental, full or webhook', 'incremental')
    .option(
      '--priority <n>',
      `${priorities.min} to ${priorities.max}, higher runs first (default: 10, the maximum for tenant keys)`,
    );
  withAuditNote(trigger)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connections trigger 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42
  $ syncline connections trigger 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --type full --reason "gap in March"`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote & { type: JobType; priority?: string }) => {
      const { type, priority } = options;
      requireOneOf('--type', type, jobTypes);
      const input = omitUndefined({
        priority:
          priority === undefined
            ? undefined
            : wholeNumber('--priority', priority, priorities.min, priorities.max),
      });
      const result = await withEngine(options, ({ connections }) =>
        connections.trigger(id, { type, ...input, ...auditNoteOf(options) }),
      );
      const json = { connection_id: id, ...triggerJson(result) };
      printResult(options.json, json, () => [triggered(type, result)]);
    });
}

function addSwitch(
  group: Command,
  action: 'pause' | 'resume',
  { description, exampleReason }: { description: string; exampleReason: string },
): void {
  const command = group.command(action).description(description).argument('<id>', 'connection ID');
  withAuditNote(command)
    .addHelpText(
      'after',
      `
Example:
  $ syncline connections ${action} 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --reason "${exampleReason}"`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote) => {
      const { connection, why } = await withEngine(options, async ({ connections }) => {
        const changed = await connections[action](id, auditNoteOf(options));
        return { connection: changed, why: await connections.explain(id) };
      });
      printResult(options.json, connectionJson(connection), () => [
        `Connection ${id} is ${connection.status}. ${why.sentence}`,
      ]);
    });
}

function triggered(type: JobType, { jobId, effect }: TriggerResult): string {
  switch (effect) {
    case 'queued':
      return `Queued: ${type} job ${jobId} is due now.`;
    case 'brought_forward':
      return `Brought forward: ${type} job ${jobId} was already queued and is due now.`;
    case 'follows':
      return `Rerun requested: ${type} job ${jobId} is running; another run starts when this run ends.`;
  }
}
