import type { Command } from 'commander';
import type { CommonOptions } from './engine.ts';
import { type ServiceRole, serve, serviceRoles } from './service.ts';

export function addStart(program: Command): void {
  program
    .command('start')
    .description('schedule, run and serve the API and the dashboard until told to end (Ctrl-C, SIGTERM)')
    .option('--roles <list>', `what this process does: ${serviceRoles.join(', ')}; all unless given`)
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline start\n  $ syncline start --roles scheduler,executor,janitor\n  $ syncline start --json | your-log-collector',
    )
    .action(async (options: CommonOptions & { roles?: string }) => {
      await serve(
        options,
        options.roles?.split(',').map((role) => role.trim() as ServiceRole),
      );
    });
}
