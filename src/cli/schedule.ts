import type { Command } from 'commander';
import { connectionJson, type SchedulePreview, scheduleJson } from '../index.ts';
import { cadenceOf } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { wholeNumber } from './options.ts';
import { printResult, table } from './output.ts';
import { addScheduleRepair } from './schedule-repair.ts';

export function addSchedule(program: Command): void {
  const schedule = program.command('schedule').description('preview and repair schedules');
  schedule
    .command('preview')
    .description('show the next expected runs of a connection')
    .argument('<id>', 'connection ID')
    .option('--runs <n>', 'number of runs to show, 1 to 100', '5')
    .addHelpText(
      'after',
      '\nExample:\n  $ syncline schedule preview 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --runs 10',
    )
    .action(async (id: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { runs: string }>();
      const preview = await withEngine(options, (syncline) =>
        syncline.connections.preview(id, { runs: wholeNumber('--runs', options.runs, 1, 100) }),
      );
      printResult(options.json, toJson(preview), () => toLines(preview));
    });
  addScheduleRepair(schedule);
}

function toJson(preview: SchedulePreview) {
  const { id, status, base_interval_seconds, schedule, next_run_at } = connectionJson(preview.connection);
  return {
    ...{ connection_id: id, status, base_interval_seconds, schedule, next_run_at },
    ...scheduleJson(preview),
  };
}

function toLines({ connection, pending, runs }: SchedulePreview): string[] {
  const head = `${connection.provider} ${connection.id}: ${cadenceOf(connection)}`;
  if (runs.length === 0)
    return [head, `Status is ${connection.status}: no runs are scheduled until the connection is active.`];
  const rows = runs.map(({ earliest, latest }, i) => [
    String(i + 1),
    earliest.toISOString(),
    latest.getTime() === earliest.getTime() ? '' : latest.toISOString(),
    i === 0 && pending ? pending : '',
  ]);
  return [
    head,
    ...table([['run', 'earliest', 'latest', ''], ...rows]),
    ...(runs.length > 1 && !connection.schedule
      ? ['Assumes that runs take no time: each interval starts when the previous run ends.']
      : []),
  ];
}
