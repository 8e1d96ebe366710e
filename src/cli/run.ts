import { Command, CommanderError } from 'commander';
import { describeError } from '../contract/errors.ts';
import { stripControl } from '../values/terminal-text.ts';
import { type Terminal, withTerminal } from './terminal.ts';

/** In help order. Loading only the named one halves the start. */
const commands: Record<string, () => Promise<(program: Command) => unknown>> = {
  dev: async () => (await import('./dev.ts')).addDev,
  migrate: async () => (await import('./migrate.ts')).addMigrate,
  start: async () => (await import('./start.ts')).addStart,
  dashboard: async () => (await import('./dashboard.ts')).addDashboard,
  tick: async () => (await import('./tick.ts')).addTick,
  work: async () => (await import('./work.ts')).addWork,
  connections: async () => (await import('./connections.ts')).addConnections,
  connector: async () => (await import('./connector.ts')).addConnector,
  jobs: async () => (await import('./jobs.ts')).addJobs,
  signals: async () => (await import('./signals.ts')).addSignals,
  schedule: async () => (await import('./schedule.ts')).addSchedule,
  budgets: async () => (await import('./budgets.ts')).addBudgets,
  keys: async () => (await import('./keys.ts')).addKeys,
  audit: async () => (await import('./audit.ts')).addAudit,
  credentials: async () => (await import('./credentials.ts')).addCredentials,
  config: async () => (await import('./config.ts')).addConfig,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  demo: async () => (await import('./demo.ts')).addDemo,
};

const examples = `
SYNCLINE_DATABASE_URL (or DATABASE_URL) selects the database. \`syncline config\` shows all settings.

Examples:
  $ syncline dev                            run Syncline on an embedded Postgres
  $ syncline migrate                        create or upgrade the tables
  $ syncline start                          run all roles, the API and the dashboard
  $ syncline keys create --operator --name me
                                            create a key for the API and the dashboard
  $ syncline tick && syncline work --drain  queue and run all due jobs, then exit
  $ syncline connections add --provider github --tenant-name Northwind
  $ syncline connections why <id>           explain why a connection is or is not syncing
  $ syncline jobs list --status failed      list failed jobs
  $ syncline doctor                         check the database and all processes
  $ syncline connector new tracker          create a connector; then \`connector run\` and \`connector test\`
  $ syncline signals tail --payload         follow new signals`;

export function runCli(terminal: Terminal, version: string): Promise<number> {
  return withTerminal(terminal, async () => {
    try {
      const program = await programFor(terminal, version);
      await program.parseAsync(terminal.args, { from: 'user' });
      return terminal.exitCode;
    } catch (error) {
      // Commander has printed its output.
      if (error instanceof CommanderError) return error.exitCode;
      terminal.stderr.write(`error: ${stripControl(describeError(error))}\n`);
      return 1;
    }
  });
}

export async function programFor(terminal: Terminal, version: string): Promise<Command> {
  const program = new Command('syncline')
    .description('The sync engine for the Postgres you already have.')
    .version(version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      getOutHelpWidth: () => widthOf(terminal.stdout),
      getErrHelpWidth: () => widthOf(terminal.stderr),
      outputError: (text, write) => write(`${stripControl(text.trim())}\n`),
    })
    .addHelpText('after', examples);
  const named = Object.entries(commands).filter(([name]) => name === terminal.args[0]);
  for (const [, load] of named.length > 0 ? named : Object.entries(commands)) (await load())(program);
  withCommonOptions(program);
  return program;
}

/** As Commander does for the process. */
const widthOf = ({ isTTY, columns }: Terminal['stdout']) => (isTTY ? columns : undefined) ?? 80;

function withCommonOptions(command: Command): void {
  for (const child of command.commands) withCommonOptions(child);
  if (command.commands.length > 0) return;
  command.option('--json', 'print JSON');
  // `connector` commands have their own --config.
  if (command.parent?.name() !== 'connector')
    command.option('--config <file>', 'configuration file (default: ./syncline.config.ts)');
}
