import type { Command } from 'commander';
import { addConnectorNew } from './connector-new.ts';
import { addConnectorRun } from './connector-run.ts';
import { addConnectorTest } from './connector-test.ts';

export function addConnector(program: Command): void {
  const group = program
    .command('connector')
    .description('write, run and test a connector; no database is needed');
  addConnectorNew(group);
  addConnectorRun(group);
  addConnectorTest(group);
}
