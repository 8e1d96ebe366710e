import type { Command } from 'commander';
import { requireOneOf } from '../values/arguments.ts';
import type { CommonOptions } from './engine.ts';
import { type ServiceRole, serve, serviceRoles } from './service.ts';

export function addStart(program: Command): void {
  program
    .command('start')
    .description(
      'run the scheduler, executor, janitor, API and dashboard until interrupted (Ctrl-C, SIGTERM)',
    )
    .option('--roles <list>', `comma-separated roles to run: ${serviceRoles.join(', ')} (default: all)`)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline start
  $ syncline start --roles scheduler,executor,janitor
  $ syncline start --json | your-log-collector`,
    )
    .action(async (options: CommonOptions & { roles?: string }) => {
      await serve(
        options,
        options.roles?.split(',').map((role) => serviceRole(role.trim())),
      );
    });
}

function serviceRole(role: string): ServiceRole {
  requireOneOf('--roles', role, serviceRoles);
  return role as ServiceRole;
}
