#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describeError } from '../contract/errors.ts';
import { plain } from '../values/terminal-text.ts';
import { addAudit } from './audit.ts';
import { addBudgets } from './budgets.ts';
import { addConfig } from './config.ts';
import { addConnections } from './connections.ts';
import { addConnector } from './connector.ts';
import { addCredentials } from './credentials.ts';
import { addDemo } from './demo-load.ts';
import { addDev } from './dev.ts';
import { addDoctor } from './doctor.ts';
import { addJobs } from './jobs.ts';
import { addKeys } from './keys.ts';
import { addMigrate } from './migrate.ts';
import { addSchedule } from './schedule.ts';
import { addSignals } from './signals.ts';
import { addStart } from './start.ts';
import { addTick } from './tick.ts';
import { addWork } from './work.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('syncline')
  .description('The sync engine for the Postgres you already have.')
  .version(version)
  .configureOutput({ outputError: (text, write) => write(`${plain(text.trim())}\n`) })
  .addHelpText(
    'after',
    `
The database is named by SYNCLINE_DATABASE_URL (or DATABASE_URL); \`syncline config\` shows every setting.

Examples:
  $ syncline dev                            try it on an embedded Postgres
  $ syncline migrate                        create or upgrade the tables
  $ syncline start                          place and run jobs, serve API and dashboard, until Ctrl-C
  $ syncline keys create --operator --name me
                                            a key for the API and the dashboard
  $ syncline tick && syncline work --drain  place and run what is due, for a cron job or a test
  $ syncline connections add --provider github --tenant-name Northwind
  $ syncline connections why <id>           why is it syncing, or why not?
  $ syncline jobs list --status failed      what went wrong?
  $ syncline doctor                         is anything wrong with the database or the fleet?
  $ syncline connector new tracker          write a connector; \`connector run\` and \`connector test\` try it
  $ syncline signals tail --payload         watch what comes in`,
  );

for (const add of [
  addDev,
  addMigrate,
  addStart,
  addTick,
  addWork,
  addConnections,
  addConnector,
  addJobs,
  addSignals,
  addSchedule,
  addBudgets,
  addKeys,
  addAudit,
  addCredentials,
  addConfig,
  addDoctor,
  addDemo,
])
  add(program);
withCommonOptions(program);

// Whoever reads, such as `head`, may have seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

// Of a connector that fails after its run has ended, for example. Node would show all that such an error carries: requests, rows.
process.on('uncaughtException', (error: unknown) => {
  const stack = error instanceof Error ? `${error.stack}\n` : '';
  process.stderr.write(`error: ${plain(describeError(error))}\n${stack}`);
  process.exit(1);
});

try {
  await program.parseAsync();
  // Everything is closed; a connector that went on after its run was ended must not keep the process.
  process.stdout.write('', () => process.exit());
} catch (error) {
  process.stderr.write(`error: ${plain(describeError(error))}\n`);
  // Not only an exit code: a login that fails for want of a password leaves its socket open until the server closes it.
  process.exit(1);
}

function withCommonOptions(command: Command): void {
  for (const child of command.commands) withCommonOptions(child);
  if (command.commands.length > 0) return;
  command.option('--json', 'print JSON for machines');
  // Commands that need no engine have one of their own, or none.
  if (command.parent?.name() !== 'connector')
    command.option(
      '--config <file>',
      'the configuration file, instead of syncline.config.ts in the working folder',
    );
}
