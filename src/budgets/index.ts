export { createBudgets } from './api.ts';
export { createBudgetKeeper } from './keeper.ts';
export { type BudgetStatus, budgetJson } from './model.ts';
