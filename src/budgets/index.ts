export { type BudgetStatus, createBudgets } from './api.ts';
export { createBudgetKeeper } from './keeper.ts';
