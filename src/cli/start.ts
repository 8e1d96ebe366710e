import type { Command } from 'commander';
import { type Role, roles } from '../syncline.ts';
import type { CommonOptions } from './engine.ts';
import { serve } from './service.ts';

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
      await serve(
        options,
        options.roles?.split(',').map((role) => role.trim() as Role),
      );
    });
}
