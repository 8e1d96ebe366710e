import type { Budget, BudgetUse } from '../contract/budget.ts';
import type { SyncContext } from '../contract/connector.ts';
import { systemPorts } from '../platform/ports.ts';
import { budgetNews } from './rate-limit-headers.ts';
import { waitSeconds } from './refusals.ts';

/** Tells the budgets that paid for a request what its answer says of them. */
export function learnFrom(
  { status, headers }: Response,
  body: string,
  { uses, context }: { uses: readonly BudgetUse[]; context: Pick<SyncContext, 'budgets' | 'job'> },
): void {
  const budget = budgetOf(uses, headers);
  const narrowest = uses.at(-1)?.budget;
  if (!budget || !narrowest) return;
  const nowMs = systemPorts.now();
  const news = budgetNews(headers, nowMs);
  if (news.remaining !== undefined) context.budgets.learn(budget, news);
  const waits = waitSeconds({ status, headers, body, attempts: context.job.attempts }, nowMs);
  // It was refused for another reason than this budget: all who share the other one have to wait.
  if (waits !== undefined && news.remaining !== 0)
    context.budgets.learn(narrowest, { remaining: 0, resetsInSeconds: waits });
}

/** The budget that an answer speaks of: the one it names, else the first. */
function budgetOf(uses: readonly BudgetUse[], headers: Headers): Budget | undefined {
  const named = headers.get('x-ratelimit-resource');
  return (uses.find(({ budget }) => budget.name === named) ?? uses[0])?.budget;
}
