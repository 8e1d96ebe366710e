import type { Budget, BudgetUse } from '../contract/budget.ts';
import { PermanentError, refusalMessage } from '../contract/errors.ts';
import type { ClaimedJob } from '../pipeline/claim.ts';
import type { NewBudget } from '../store/budgets.ts';

/** Range of `int`. */
const maxTokens = 2 ** 31 - 1;
const maxPeriodSeconds = 31 * 24 * 3600;
const maxNameLength = 200;
/** Postgres rejects or changes these; such a key would fail its whole transaction. */
const unstorable = /[\0\p{Surrogate}]/u;

/** Shared by runs whose requests the provider counts together. */
export function budgetOf(job: ClaimedJob, budget: Budget): NewBudget {
  const { name, per, limit, perSeconds } = budget;
  if (typeof name !== 'string' || name.trim() === '' || name.length > maxNameLength || unstorable.test(name))
    throw wrong('name', name, `text of 1 to ${maxNameLength} characters`);
  if (per !== 'credential' && per !== 'app') throw wrong('per', per, '"credential" or "app"');
  requireWhole('limit', limit, maxTokens);
  requireWhole('perSeconds', perSeconds, maxPeriodSeconds);
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

function requireWhole(field: string, value: unknown, max: number): void {
  if (!Number.isInteger(value) || (value as number) < 1 || (value as number) > max)
    throw wrong(field, value, `a whole number from 1 to ${max}`);
}

function wrong(field: string, value: unknown, expected: string): PermanentError {
  const shown = (JSON.stringify(value) ?? String(value)).slice(0, 80);
  const message = refusalMessage({ field: `A budget's ${field}`, expected, value: shown });
  return new PermanentError(`${message} Correct the connector.`);
}
