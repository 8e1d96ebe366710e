import type { Command } from 'commander';
import type { CommonOptions } from './engine.ts';
import { requestLoginLink } from './local-server.ts';
import { openBrowser } from './open-browser.ts';
import { note, printResult } from './output.ts';

export function addDashboard(program: Command): void {
  program
    .command('dashboard')
    .description('print a one-time login link for the dashboard of a server running in this directory')
    .option('--open', 'also open it in the browser')
    .addHelpText('after', '\nExamples:\n  $ syncline dashboard\n  $ syncline dashboard --open')
    .action(async (options: CommonOptions & { open?: boolean }) => {
      const { url, expiresInSeconds } = await requestLoginLink();
      printResult(options.json, { url, expires_in_seconds: expiresInSeconds }, () => [url]);
      if (!options.json) note(`One-time link, valid for ${expiresInSeconds / 60} minutes.`);
      const failure = options.open ? await openBrowser(url) : undefined;
      if (failure !== undefined) note(`Could not open a browser: ${failure}. Open the link manually.`);
    });
}
