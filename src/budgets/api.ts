import { keyOf, mapPage, type Page, type PageRequest, pageLimit, pageOf } from '../caller/keyset.ts';
import type { Ports } from '../platform/ports.ts';
import { availableIn, isOver } from '../schedule/bucket.ts';
import { type BudgetFilter, type ListedBudget, listBudgets } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import { requireText, requireUuid } from '../values/arguments.ts';

/** Remaining rate limit of a provider, for the whole fleet. */
export interface BudgetStatus {
  key: string;
  provider: string;
  name: string;
  /** Undefined: shared by all tenants. */
  tenantId: string | undefined;
  credentialId: string | undefined;
  limit: number;
  periodSeconds: number;
  /** Not leased to any process. */
  left: number;
  /** Leased to processes and not reported as spent. */
  leased: number;
  /** End of the window; undefined: the next request opens one. */
  resetsAt: Date | undefined;
  /** When the provider last reported its rate limit. */
  learnedAt: Date | undefined;
}

export function createBudgets({ db, ports }: { db: Database; ports: Ports }) {
  return {
    /** Ordered by key. */
    async list({
      cursor,
      limit: requestedLimit,
      ...filter
    }: PageRequest & BudgetFilter = {}): Promise<Page<BudgetStatus>> {
      const limit = pageLimit(requestedLimit);
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
