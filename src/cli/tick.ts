import type { Command } from 'commander';
import { invalidArgument } from '../contract/errors.ts';
import { show } from '../values/arguments.ts';
import { parseInstant } from '../values/instant.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { count, printResult } from './output.ts';

export function addTick(program: Command): void {
  program
    .command('tick')
    .description('run one scheduler tick and exit')
    .option('--at <time>', 'run as of this time (ISO-8601, such as 2025-01-01T12:15:00Z) instead of now')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline tick\n  $ syncline tick --at 2025-01-01T12:15:00Z --json',
    )
    .action(async (options: CommonOptions & { at?: string }) => {
      const at = options.at === undefined ? undefined : parseTime(options.at);
      const result = await withEngine(options, (syncline) => syncline.tick(at ? { at } : {}));
      const printed = {
        scheduled: result.scheduled,
        skipped_pending: result.skippedPending,
        invalid_metadata: result.invalidMetadata,
        backlog: result.backlog,
        duration_ms: Math.round(result.durationMs),
      };
      printResult(options.json, printed, () => [
        `Queued ${count(result.scheduled, 'job')} in ${Math.round(result.durationMs)} ms. ` +
          `${count(result.backlog, 'connection was', 'connections were')} overdue at the start.`,
        ...(result.skippedPending
          ? [`Skipped ${count(result.skippedPending, 'connection')}: a job is already pending.`]
          : []),
        ...(result.invalidMetadata
          ? [`Invalid metadata in ${count(result.invalidMetadata, 'connection')}; see the warnings.`]
          : []),
      ]);
    });
}

function parseTime(text: string): Date {
  // Seconds are optional.
  const ms = parseInstant(text.replace(/T(\d\d:\d\d)(Z|[+-])/, 'T$1:00$2'));
  if (ms === undefined) {
    throw invalidArgument({
      field: '--at',
      expected: 'an ISO-8601 time such as 2025-01-01T12:15:00Z',
      value: show(text),
    });
  }
  return new Date(ms);
}
