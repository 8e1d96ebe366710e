import type { Command } from 'commander';
import { SynclineError } from '../contract/errors.ts';
import { parseInstant } from '../schedule/instant.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { answer, count } from './output.ts';

export function addTick(program: Command): void {
  program
    .command('tick')
    .description('run one complete scheduler tick and exit')
    .option('--at <time>', 'tick as of this time (ISO-8601, such as 2025-01-01T12:15:00Z) instead of now')
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
      answer(options.json, printed, () => [
        `Placed ${count(result.scheduled, 'job')} in ${Math.round(result.durationMs)} ms. ` +
          `At the start ${count(result.backlog, 'connection was', 'connections were')} overdue.`,
        ...(result.skippedPending
          ? [`Set ${count(result.skippedPending, 'connection')} aside until their job ends.`]
          : []),
        ...(result.invalidMetadata
          ? [`${count(result.invalidMetadata, 'connection')} had wrong metadata; see the warnings.`]
          : []),
      ]);
    });
}

function parseTime(text: string): Date {
  // People leave the seconds out.
  const ms = parseInstant(text.replace(/T(\d\d:\d\d)(Z|[+-])/, 'T$1:00$2'));
  if (ms === undefined) {
    throw new SynclineError(
      'INVALID_ARGUMENT',
      `--at is "${text}"; it must be an ISO-8601 time such as 2025-01-01T12:15:00Z.`,
    );
  }
  return new Date(ms);
}
