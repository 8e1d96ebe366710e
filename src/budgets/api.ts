import { keyOf, mapPage, type Page, type PageRequest, pageLimit, pageOf } from '../caller/keyset.ts';
import type { Ports } from '../platform/ports.ts';
import { type BudgetFilter, listBudgets } from '../store/budgets.ts';
import type { Database } from '../store/database.ts';
import { requireText, requireUuid } from '../values/arguments.ts';
import { type BudgetStatus, budgetFromRow } from './model.ts';

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
        (row) => budgetFromRow(row, nowMs),
      );
    },
  };
}
