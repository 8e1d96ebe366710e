import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addBudgets } from '../../src/cli/budgets.ts';
import { addConnections } from '../../src/cli/connections.ts';
import { addConnector } from '../../src/cli/connector.ts';
import { addJobs } from '../../src/cli/jobs.ts';
import { addSchedule } from '../../src/cli/schedule.ts';
import { addSignals } from '../../src/cli/signals.ts';
import { addWork } from '../../src/cli/work.ts';

const program = new Command('syncline');
for (const add of [addWork, addConnections, addConnector, addJobs, addSignals, addSchedule, addBudgets])
  add(program);

const leaves = (command: Command, path = ''): [string, Command][] =>
  command.commands.length === 0
    ? [[path.trim(), command]]
    : command.commands.flatMap((child) => leaves(child, `${path} ${child.name()}`));

describe('--help', () => {
  it.each(leaves(program))('has examples: %s', (path, command) => {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(new RegExp(`Examples?:\n {2}\\$ syncline ${path}( |$)`, 'm'));
  });
});
