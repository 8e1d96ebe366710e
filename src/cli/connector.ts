import type { Command } from 'commander';
import { addConnectorNew } from './connector-new.ts';
import { addConnectorRun } from './connector-run.ts';
import { addConnectorTest } from './connector-test.ts';

export function addConnector(program: Command): void {
  const group = program
    .command('connector')
    .description('create, run and test a connector, without a database');
  addConnectorNew(group);
  addConnectorRun(group);
  addConnectorTest(group);
}
