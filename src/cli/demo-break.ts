import type { Command } from 'commander';
import { SynclineError } from '../contract/errors.ts';
import type { CommonOptions } from './engine.ts';
import { callLocally } from './local-server.ts';
import { printResult } from './output.ts';

const changes = {
  break: {
    broken: true,
    about: 'make all requests to a simulated provider fail',
    done:
      'Requests to %s now fail; its connections retry with backoff. To make requests succeed again: ' +
      'npx syncline demo heal %s',
  },
  heal: {
    broken: false,
    about: 'make requests to a simulated provider succeed again',
    done: 'Requests to %s succeed again; its connections recover at their next retry.',
  },
};

export function addDemoBreak(group: Command): void {
  for (const [name, { broken, about, done }] of Object.entries(changes))
    group
      .command(name)
      .description(about)
      .argument('<provider>', 'simulated provider, such as github')
      .addHelpText('after', `\nExample:\n  $ syncline demo ${name} github`)
      .action(async (provider: string, options: CommonOptions) => {
        await setBroken(provider, broken);
        printResult(options.json, { provider, broken }, () => [done.replaceAll('%s', provider)]);
      });
}

async function setBroken(provider: string, broken: boolean): Promise<void> {
  const path = `/v1/demo/providers/${encodeURIComponent(provider)}`;
  const response = await callLocally(path, 'PUT', { broken });
  if (response.ok) return;
  const { code, detail, hint } = (await response.json()) as { code: string; detail: string; hint?: string };
  if (code === 'INVALID_ARGUMENT') throw new SynclineError(code, detail, { hint });
  throw new SynclineError('NOT_FOUND', 'The server in this directory does not run the demo.', {
    hint: 'Start `syncline dev` without a configured database.',
  });
}
