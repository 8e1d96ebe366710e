import type { Budget, BudgetUse } from '../contract/budget.ts';
import type { SyncContext } from '../contract/connector.ts';
import { budgetNews } from './rate-limit-headers.ts';
import { rateLimitSeconds } from './refusals.ts';

export function updateBudgets(
  { status, headers }: Response,
  body: string,
  { uses, context }: { uses: readonly BudgetUse[]; context: Pick<SyncContext, 'budgets' | 'clock' | 'job'> },
): void {
  const budget = budgetOf(uses, headers);
  const narrowest = uses.at(-1)?.budget;
  if (!budget || !narrowest) return;
  const nowMs = context.clock.now();
  const news = budgetNews(headers, nowMs);
  if (news.remaining !== undefined) context.budgets.learn(budget, news);
  const waitForSeconds = rateLimitSeconds({ status, headers, body, attempts: context.job.attempts }, nowMs);
  // Requests are left: the narrowest is exhausted.
  if (waitForSeconds !== undefined && news.remaining !== 0)
    context.budgets.learn(narrowest, { remaining: 0, resetsInSeconds: waitForSeconds });
}

/** By `x-ratelimit-resource`, else the first. */
function budgetOf(uses: readonly BudgetUse[], headers: Headers): Budget | undefined {
  const named = headers.get('x-ratelimit-resource');
  return (uses.find(({ budget }) => budget.name === named) ?? uses[0])?.budget;
}
