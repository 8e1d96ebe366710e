import type { Command } from 'commander';
import { type CommonOptions, loadCliConfig } from './engine.ts';
import { printResult, table } from './output.ts';

export function addConfig(program: Command): void {
  program
    .command('config')
    .description('show the effective configuration and the source of each value; secrets are masked')
    .addHelpText(
      'after',
      `
Examples:
  $ syncline config
  $ syncline config --json --config ./deploy/syncline.config.ts`,
    )
    .action(async (options: CommonOptions) => {
      const { entries, warnings } = await loadCliConfig(options);
      const shown = entries.map(({ path, value, shown, from }) => ({
        path,
        // A masked value differs from its JSON.
        value: value === undefined ? null : shown === JSON.stringify(value) ? value : shown,
        from,
      }));
      printResult(options.json, { settings: shown, warnings }, () => [
        ...table([
          ['setting', 'value', 'source'],
          ...entries.map(({ path, shown, from }) => [path, shown, from]),
        ]),
        ...warnings.map((warning) => `warning: ${warning}`),
      ]);
    });
}
