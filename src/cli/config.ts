import type { Command } from 'commander';
import { type CommonOptions, loadCliConfig } from './engine.ts';
import { answer, table } from './output.ts';

export function addConfig(program: Command): void {
  program
    .command('config')
    .description('show the configuration in force and where each value came from, secrets masked')
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline config\n  $ syncline config --json --config ./deploy/syncline.config.ts',
    )
    .action(async (options: CommonOptions) => {
      const { entries, warnings } = await loadCliConfig(options);
      const shown = entries.map(({ path, value, shown, from }) => ({
        path,
        // What is shown in another way than it is, is a secret.
        value: value === undefined ? null : shown === JSON.stringify(value) ? value : shown,
        from,
      }));
      answer(options.json, { settings: shown, warnings }, () => [
        ...table([
          ['setting', 'value', 'from'],
          ...entries.map(({ path, shown, from }) => [path, shown, from]),
        ]),
        ...warnings.map((warning) => `warning: ${warning}`),
      ]);
    });
}
