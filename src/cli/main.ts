#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describeError } from '../errors.ts';
import { addConfig } from './config.ts';
import { addDev } from './dev.ts';
import { addMigrate } from './migrate.ts';
import { addSchedule } from './schedule.ts';
import { addStart } from './start.ts';
import { addTick } from './tick.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const program = new Command('syncline')
  .description('The sync engine for the Postgres you already have.')
  .version(version)
  .configureOutput({ outputError: (text, write) => write(`${text.trim().replaceAll(/\s*\n\s*/g, ' ')}\n`) })
  .addHelpText(
    'after',
    `
The database is named by SYNCLINE_DATABASE_URL (or DATABASE_URL); \`syncline config\` shows every setting.

Examples:
  $ syncline dev                        try it on an embedded Postgres
  $ syncline migrate                    create or upgrade the tables
  $ syncline start --roles scheduler    place jobs until Ctrl-C
  $ syncline tick --json                one tick, for a cron job or a test`,
  );

for (const add of [addDev, addMigrate, addStart, addTick, addSchedule, addConfig]) add(program);
withCommonOptions(program);

try {
  await program.parseAsync();
} catch (error) {
  process.stderr.write(`error: ${describeError(error)}\n`);
  // Not only an exit code: a login that fails for want of a password leaves its socket open until the server closes it.
  process.exit(1);
}

function withCommonOptions(command: Command): void {
  for (const child of command.commands) withCommonOptions(child);
  if (command.commands.length > 0) return;
  command
    .option('--json', 'print JSON for machines')
    .option('--config <file>', 'the configuration file, instead of syncline.config.ts in the working folder');
}
