import { z } from 'zod';
import { availableIn, isOver } from '../schedule/bucket.ts';
import type { ListedBudget } from '../store/budgets.ts';
import { jsonOf, maybeTime, maybeUuid, providerSlug } from '../values/model.ts';

const budget = z
  .object({
    key: z.string().meta({ example: 'github/core/0198c1a2-5b7e-7d3c-8f00-4a1b2c3d4e5f' }),
    provider: providerSlug,
    name: z.string().meta({ description: 'The limited resource.', example: 'core' }),
    tenantId: maybeUuid.meta({ description: 'Null if shared by all tenants.' }),
    credentialId: maybeUuid,
    limit: z.int().meta({ description: 'Requests per period.', example: 5000 }),
    periodSeconds: z.int().meta({ example: 3600 }),
    left: z.int().meta({ description: 'Requests neither spent nor leased.', example: 4200 }),
    leased: z.int().meta({ description: 'Requests leased to processes, as last reported.', example: 100 }),
    resetsAt: maybeTime.meta({
      description: 'When the budget is full again; null if it is full.',
    }),
    learnedAt: maybeTime.meta({
      description: 'When the provider last reported the remaining requests; null if never.',
    }),
  })
  .meta({ id: 'BudgetStatus' });
/** A provider's remaining rate limit, for all processes. */
export interface BudgetStatus extends z.output<typeof budget> {}

export const budgetJson = jsonOf(budget);

export function budgetFromRow({ bucket, has_more: _, ...place }: ListedBudget, nowMs: number): BudgetStatus {
  const { limit, periodSeconds, learnedAtMs } = bucket;
  const isFull = isOver(bucket, nowMs);
  return {
    ...place,
    limit,
    periodSeconds,
    left: isFull ? limit : availableIn(bucket, nowMs),
    leased: isFull ? 0 : bucket.leased + bucket.carried,
    resetsAt: isFull ? undefined : new Date(bucket.resetsAtMs),
    learnedAt: learnedAtMs === undefined ? undefined : new Date(learnedAtMs),
  };
}
