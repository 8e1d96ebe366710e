import type { Budget, BudgetUse } from '../contract/budget.ts';
import { PermanentError } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import type { NewBudget } from '../store/budgets.ts';

/** What a column can hold. */
const maxTokens = 2 ** 31 - 1;
/** A window of more than a month is none that a provider has. */
const maxSeconds = 31 * 24 * 3600;
const maxName = 200;
/** Postgres refuses these, or gives back something else: one such key would fail everybody whose budgets are asked for with it. */
const unstorable = /[\0\p{Surrogate}]/u;

/** The row that a run's budget is kept in: one for all runs whose requests the provider counts together. */
export function budgetOf(job: ClaimedJob, budget: Budget): NewBudget {
  const { name, per, limit, perSeconds } = budget;
  if (typeof name !== 'string' || name.trim() === '' || name.length > maxName || unstorable.test(name))
    throw wrong('name', name, `text of 1 to ${maxName} characters`);
  if (per !== 'credential' && per !== 'app') throw wrong('per', per, '"credential" or "app"');
  requireWhole('limit', limit, maxTokens);
  requireWhole('perSeconds', perSeconds, maxSeconds);
  const shared = { provider: job.providerSlug, name, stated: limit, periodSeconds: perSeconds };
  const key = `${job.providerSlug}/${name}`;
  if (per === 'app') return { key, tenantId: undefined, credentialId: undefined, ...shared };
  const { credentialId } = job.connection;
  const holder = credentialId ?? job.connectionId;
  return { key: `${key}/${holder}`, tenantId: job.tenantId, credentialId, ...shared };
}

export function weightOf({ weight = 1 }: BudgetUse): number {
  requireWhole('weight', weight, maxTokens);
  return weight;
}

function requireWhole(field: string, value: unknown, largest: number): void {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > largest)
    throw wrong(field, value, `a whole number from 1 to ${largest}`);
}

function wrong(field: string, value: unknown, expected: string): PermanentError {
  const shown = (JSON.stringify(value) ?? String(value)).slice(0, 80);
  return new PermanentError(
    `A budget's ${field} is ${shown}; it must be ${expected}. Correct the connector.`,
  );
}
