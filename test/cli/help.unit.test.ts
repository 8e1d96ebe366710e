import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { cliProgram } from '../../scripts/reference/cli.ts';

const program = await cliProgram();

const leaves = (command: Command, path = ''): [string, Command][] =>
  command.commands.length === 0
    ? [[path.trim(), command]]
    : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`));

describe('--help', () => {
  it.each(leaves(program))('help: --help of a command has examples: %s', (path, command) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    // An example may use the output: export KEYS="$(syncline credentials keygen)".
    expect(help).toMatch(new RegExp(`Examples?:\n {2}\\$ (?:.*\\()?syncline ${path}( |\\)|$)`, 'm'));
  });
});
