import type { Command } from 'commander';
import { budgetJson } from '../api/index.ts';
import type { BudgetStatus } from '../index.ts';
import { requireUuid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { given, limitOf, withLimit } from './options.ts';
import { answer, table } from './output.ts';
import { collect } from './pages.ts';
import { relativeTime } from './time-text.ts';

interface BudgetOptions extends CommonOptions {
  provider?: string;
  credential?: string;
  limit: string;
}

export function addBudgets(program: Command): void {
  withLimit(program.command('budgets').description('how much may still be asked of providers'))
    .option('--provider <slug>', 'only those of this provider')
    .option('--credential <id>', 'only those of this credential')
    .addHelpText('after', '\nExamples:\n  $ syncline budgets\n  $ syncline budgets --provider github --json')
    .action(async (options: BudgetOptions) => {
      const limit = limitOf(options);
      if (options.credential !== undefined) requireUuid('--credential', options.credential);
      const filter = given({ provider: options.provider, credentialId: options.credential });
      const { items } = await withEngine(options, ({ budgets }) =>
        collect({ limit }, (page) => budgets.list({ ...filter, ...page })),
      );
      answer(options.json, { budgets: items.map(budgetJson) }, () =>
        items.length === 0 ? ['There are no budgets: nothing was asked of a provider yet.'] : lines(items),
      );
    });
}

function lines(budgets: BudgetStatus[]): string[] {
  const rows = budgets.map((budget) => [
    budget.key,
    `${budget.limit} in ${budget.periodSeconds} s`,
    String(budget.left),
    String(budget.leased),
    budget.resetsAt ? relativeTime(budget.resetsAt) : 'full',
    budget.learnedAt ? relativeTime(budget.learnedAt) : 'never',
  ]);
  return table([['key', 'limit', 'left', 'leased', 'resets', 'learned'], ...rows]);
}
