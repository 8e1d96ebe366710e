import type { Command } from 'commander';
import { SynclineError } from '../contract/errors.ts';
import { suggestion } from '../values/suggest.ts';
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
        options.roles?.split(',').map((role) => serviceRole(role.trim())),
      );
    });
}

/** Before anything is started: half a service is none. */
function serviceRole(role: string): ServiceRole {
  const known = serviceRoles.find((one) => one === role);
  if (known) return known;
  throw new SynclineError('INVALID_ARGUMENT', `There is no role "${role}".`, {
    hint: suggestion(role, serviceRoles),
  });
}
