import type { Argument, Command, Option } from 'commander';
import { programFor } from '../../src/cli/run.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { code, prose, table } from './markdown.ts';

/** Prints help as text, and nothing else. */
const silent = {
  args: [],
  env: {},
  cwd: '/',
  stdout: { write: () => true },
  stderr: { write: () => true },
} as unknown as Terminal;

/** The program with every command; none of them is run. */
export const cliProgram = (): Promise<Command> => programFor(silent, '');

/** Every command with its arguments, options and examples, as its `--help` shows them. */
export async function cliSections(): Promise<string> {
  const program = await cliProgram();
  return program.commands.map((command) => group(command)).join('\n\n');
}

function group(command: Command): string {
  if (command.commands.length === 0) return section(command, [command.name()], 2);
  const parts = command.commands.map((child) => section(child, [command.name(), child.name()], 3));
  return [`## ${command.name()}\n\n${describe(command)}`, ...parts].join('\n\n');
}

function section(command: Command, path: string[], level: number): string {
  const name = path.join(' ');
  const usage = ['syncline', name, ...command.registeredArguments.map(argumentUsage)].join(' ');
  const options = command.options.filter(isOwn).map(optionRow);
  const args = command.registeredArguments.filter(({ description }) => description).map(argumentRow);
  return [
    `${'#'.repeat(level)} ${name}`,
    describe(command),
    code(`${usage} [options]`),
    args.length + options.length > 0 ? table(['argument or option', 'about'], [...args, ...options]) : '',
    notes(command),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** The introduction describes what all commands have. */
const isOwn = ({ long, description, hidden }: Option) =>
  !(hidden || long === '--json' || (long === '--config' && description.startsWith('configuration file')));

const describe = (command: Command) => `${prose(capitalize(command.description()))}.`;
const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function argumentUsage(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '…' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

const argumentRow = (argument: Argument) => [code(argumentUsage(argument)), prose(argument.description)];

function optionRow(option: Option): string[] {
  const choices = option.argChoices ? `; one of ${option.argChoices.map(code).join(', ')}` : '';
  const value = option.defaultValueDescription ?? option.defaultValue;
  const preset = value === undefined || value === false ? '' : ` (default: ${code(String(value))})`;
  const required = option.mandatory ? ' (required)' : '';
  return [code(option.flags), `${prose(option.description)}${choices}${preset}${required}`];
}

/** What the help says after the options: prose, then examples. */
function notes(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  const [before = '', examples] = help.slice(command.helpInformation().length).split(/\n?Examples?:\n/);
  const lines = examples?.split('\n').map((line) => line.replace(/^ {2}(\$ )?/, ''));
  return `${prose(before.trim())}\n\n${lines ? `\`\`\`sh\n${lines.join('\n').trim()}\n\`\`\`` : ''}`.trim();
}
