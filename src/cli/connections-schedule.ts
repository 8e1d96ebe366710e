import type { Command } from 'commander';
import { type AuditNote, type Connection, connectionJson, type Syncline } from '../index.ts';
import { invalid } from '../values/arguments.ts';
import { cadenceOf, connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, withAuditNote } from './options.ts';
import { printResult } from './output.ts';
import { intervalOf, type ScheduleOptions, scheduleOf, withSchedule } from './schedule-options.ts';

interface Options extends CommonOptions, AuditNote, ScheduleOptions {
  default?: boolean;
}

export function addConnectionsSchedule(group: Command): void {
  const command = group
    .command('schedule')
    .description('change when a connection runs: by interval, cron expression or times of day')
    .argument('<id>', 'connection ID');
  withAuditNote(withSchedule(command).option('--default', 'use the default interval'))
    .addHelpText(
      'after',
      `
A cron expression and times of day apply from their next occurrence. Local times skipped by a daylight saving
change run at the end of the gap; repeated local times run once.

Examples:
  $ syncline connections schedule 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --cron '0 6 * * 1-5' \\
      --time-zone Europe/Berlin
  $ syncline connections schedule 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --at 06:00,18:00 --days mon,fri
  $ syncline connections schedule 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --interval 300`,
    )
    .action(async (id: string, options: Options) => {
      const connection = await withEngine(options, (syncline) => change(syncline, id, options));
      printResult(options.json, connectionJson(connection), () => [
        `Connection ${id} runs ${cadenceOf(connection)}.`,
        ...connectionLines(connection),
      ]);
    });
}

function change({ connections, config }: Syncline, id: string, options: Options): Promise<Connection> {
  const note = auditNoteOf(options);
  const schedule = scheduleOf(options);
  const interval = intervalOf(options, config.scheduler);
  if (options.default && (schedule ?? interval) !== undefined)
    throw invalid(
      '--default cannot be combined with --interval, --cron or --at.',
      'Remove --default, or remove the other options.',
    );
  if (schedule) return connections.setSchedule(id, schedule, note);
  if (interval !== undefined) return connections.setInterval(id, interval, note);
  if (options.default) return connections.clearInterval(id, note);
  throw invalid('One of --interval, --cron, --at or --default is required.');
}
