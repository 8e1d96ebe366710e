import type { Command } from 'commander';
import { type BudgetStatus, budgetJson } from '../index.ts';
import { requireUuid } from '../values/arguments.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { limitOf, withLimit } from './options.ts';
import { printResult, table } from './output.ts';
import { collect } from './pages.ts';
import { relativeTime } from './time-text.ts';

interface BudgetOptions extends CommonOptions {
  provider?: string;
  credential?: string;
  limit: string;
}

export function addBudgets(program: Command): void {
  withLimit(program.command('budgets').description('show remaining provider rate limits'))
    .option('--provider <slug>', 'filter by provider')
    .option('--credential <id>', 'filter by credential')
    .addHelpText('after', '\nExamples:\n  $ syncline budgets\n  $ syncline budgets --provider github --json')
    .action(async (options: BudgetOptions) => {
      const limit = limitOf(options);
      if (options.credential !== undefined) requireUuid('--credential', options.credential);
      const filter = omitUndefined({ provider: options.provider, credentialId: options.credential });
      const { items } = await withEngine(options, ({ budgets }) =>
        collect({ limit }, (page) => budgets.list({ ...filter, ...page })),
      );
      printResult(options.json, { budgets: items.map(budgetJson) }, () =>
        items.length === 0
          ? ['No budgets found. A budget appears with its first request; check --provider and --credential.']
          : lines(items),
      );
    });
}

function lines(budgets: BudgetStatus[]): string[] {
  const rows = budgets.map((budget) => [
    budget.key,
    `${budget.limit} per ${budget.periodSeconds} s`,
    String(budget.left),
    String(budget.leased),
    budget.resetsAt ? relativeTime(budget.resetsAt) : 'full',
    budget.learnedAt ? relativeTime(budget.learnedAt) : 'never',
  ]);
  return table([['key', 'limit', 'remaining', 'leased', 'resets', 'learned'], ...rows]);
}
