export { type BudgetsApi, createBudgets, type ListedBudgets } from './api.ts';
export { createBudgetKeeper } from './keeper.ts';
export { type BudgetStatus, budgetJson } from './model.ts';
