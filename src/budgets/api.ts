import { keyOf, mapPage, type Page, type PageRequest, pageLimit, pageOf } from '../caller/keyset.ts';
import type { Ports } from '../platform/ports.ts';
import { availableIn, isOver } from '../schedule/bucket.ts';
import { type BudgetFilter, type ListedBudget, listBudgets } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import { requireText, requireUuid } from '../values/arguments.ts';

/** How much may still be asked of a provider, by the whole fleet. */
export interface BudgetStatus {
  key: string;
  provider: string;
  name: string;
  /** Undefined: shared by all tenants. */
  tenantId: string | undefined;
  credentialId: string | undefined;
  limit: number;
  periodSeconds: number;
  /** Not given to any process. */
  left: number;
  /** Given to processes, and not yet spent as far as they have told. */
  leased: number;
  /** When its window ends; undefined if none is under way, so that the next request begins one. */
  resetsAt: Date | undefined;
  /** When the provider itself last said how much is left. */
  learnedAt: Date | undefined;
}

/** The budgets of a tenant's credentials; those of whole apps, too, for the operator. */
export function createBudgets({ db, ports }: { db: Database; ports: Ports }) {
  return {
    /** By their keys. */
    async list({
      cursor,
      limit: wanted,
      ...filter
    }: PageRequest & BudgetFilter = {}): Promise<Page<BudgetStatus>> {
      const limit = pageLimit(wanted);
      if (filter.provider !== undefined) requireText('provider', filter.provider, 200);
      if (filter.credentialId !== undefined) requireUuid('credentialId', filter.credentialId);
      const after = keyOf('budgets', cursor, [/^[^\0]+$/])?.[0];
      const rows = await listBudgets(db, filter, { after, limit: limit + 1 });
      const nowMs = ports.now();
      return mapPage(
        pageOf('budgets', rows, ({ key }) => [key]),
        (row) => toStatus(row, nowMs),
      );
    },
  };
}

function toStatus({ bucket, followed: _, ...place }: ListedBudget, nowMs: number): BudgetStatus {
  const { most: limit, periodSeconds, learnedAtMs } = bucket;
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
