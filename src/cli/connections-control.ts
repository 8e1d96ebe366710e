import type { Command } from 'commander';
import type { TriggerResult } from '../api/index.ts';
import { connectionJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import type { JobType } from '../contract/connector.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, given, wholeNumber, withDoer } from './options.ts';
import { answer } from './output.ts';

/** What a job's priority can be. */
const priorities = { min: -32_768, max: 32_767 };

export function addConnectionsControl(group: Command): void {
  addSwitch(group, 'pause', 'run nothing more of a connection until it is resumed');
  addSwitch(group, 'resume', 'make a connection active again; what waited for it runs now');

  const trigger = group
    .command('trigger')
    .description('sync a connection now; while it is running, one more run follows')
    .argument('<id>', 'the id of the connection')
    .option('--type <type>', 'incremental, full or webhook', 'incremental')
    .option(
      '--priority <n>',
      `${priorities.min} to ${priorities.max}, higher runs first (default 10; tenant API keys are limited to 10)`,
    );
  withDoer(trigger)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connections trigger 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42
  $ syncline connections trigger 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --type full --reason "a gap in March"`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote & { type: JobType; priority?: string }) => {
      const { type, priority } = options;
      const chosen = given({
        priority:
          priority === undefined
            ? undefined
            : wholeNumber('--priority', priority, priorities.min, priorities.max),
      });
      const done = await withEngine(options, ({ connections }) =>
        connections.trigger(id, { type, ...chosen, ...doerOf(options) }),
      );
      const json = { connection_id: id, job_id: done.jobId, effect: done.effect.replaceAll(' ', '_') };
      answer(options.json, json, () => [triggered(type, done)]);
    });
}

function addSwitch(group: Command, action: 'pause' | 'resume', description: string): void {
  const command = group.command(action).description(description).argument('<id>', 'the id of the connection');
  withDoer(command)
    .addHelpText(
      'after',
      `\nExample:\n  $ syncline connections ${action} 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --reason "maintenance at the provider"`,
    )
    .action(async (id: string, options: CommonOptions & AuditNote) => {
      const { connection, why } = await withEngine(options, async ({ connections }) => {
        await connections[action](id, doerOf(options));
        return { connection: await connections.get(id), why: await connections.explain(id) };
      });
      answer(options.json, connectionJson(connection), () => [
        `Connection ${id} is ${connection.status}. ${why.sentence}`,
      ]);
    });
}

function triggered(type: JobType, { jobId, effect }: TriggerResult): string {
  switch (effect) {
    case 'queued':
      return `Queued: ${type} job ${jobId} is due now.`;
    case 'brought forward':
      return `Brought forward: ${type} job ${jobId} was waiting and is due now.`;
    case 'follows':
      return `One more follows: ${type} job ${jobId} is running, and another begins when it ends.`;
  }
}
