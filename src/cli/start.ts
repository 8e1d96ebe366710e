import type { Command } from 'commander';
import { type Role, roles } from '../syncline.ts';
import { createLogger } from '../telemetry/log.ts';
import { type CommonOptions, loadCliConfig, warnAll } from './engine.ts';
import { runService } from './service.ts';

export function addStart(program: Command): void {
  program
    .command('start')
    .description('run until told to end (Ctrl-C, SIGTERM)')
    .option('--roles <list>', `what this process does: ${roles.join(', ')}; all unless given`)
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline start\n  $ syncline start --roles scheduler\n  $ syncline start --json | your-log-collector',
    )
    .action(async (options: CommonOptions & { roles?: string }) => {
      const loaded = await loadCliConfig(options);
      const readable = process.stdout.isTTY && !options.json;
      const log = createLogger({ level: loaded.config.log.level, readable, to: 'stdout' });
      warnAll(log, loaded);
      await runService({ loaded, log, roles: options.roles?.split(',').map((role) => role.trim() as Role) });
    });
}
