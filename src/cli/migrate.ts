import type { Command } from 'commander';
import { type CommonOptions, withEngine } from './engine.ts';
import { printResult } from './output.ts';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('create or upgrade the database schema')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline migrate\n  $ SYNCLINE_DATABASE_SCHEMA=shard_2 syncline migrate --json',
    )
    .action(async (options: CommonOptions) => {
      const result = await withEngine(options, (syncline) => syncline.migrate(), { checkReady: false });
      const steps = result.steps.map(({ name, durationMs }) => ({ name, duration_ms: durationMs }));
      printResult(options.json, { ...result, steps }, () => [
        ...result.steps.map(({ name, durationMs }) => `Applied ${name} in ${durationMs} ms.`),
        result.applied.length === 0
          ? `Schema "${result.schema}" is up to date (version ${result.version}).`
          : `Schema "${result.schema}" is now at version ${result.version}.`,
      ]);
    });
}
