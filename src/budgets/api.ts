import { keyOf, mapPage, type Page, type PageRequest, pageLimit, pageOf } from '../caller/keyset.ts';
import type { Ports } from '../platform/ports.ts';
import { type BudgetFilter, listBudgets } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import { requireText, requireUuid } from '../values/arguments.ts';
import { type BudgetStatus, budgetFromRow } from './model.ts';

/** Filter and page of `budgets.list`. */
export interface ListedBudgets extends BudgetFilter, PageRequest {}

/** Providers' rate limits. */
export interface BudgetsApi {
  /** Ordered by key. */
  list(request?: ListedBudgets): Promise<Page<BudgetStatus>>;
}

export function createBudgets({ db, ports }: { db: Database; ports: Ports }): BudgetsApi {
  return {
    async list({ cursor, limit: requestedLimit, ...filter } = {}) {
      const limit = pageLimit(requestedLimit);
      if (filter.provider !== undefined) requireText('provider', filter.provider, 200);
      if (filter.credentialId !== undefined) requireUuid('credentialId', filter.credentialId);
      const after = keyOf('budgets', cursor, [/^[^\0]+$/])?.[0];
      const rows = await listBudgets(db, filter, { after, limit: limit + 1 });
      const nowMs = ports.now();
      return mapPage(
        pageOf('budgets', rows, ({ key }) => [key]),
        (row) => budgetFromRow(row, nowMs),
      );
    },
  };
}
