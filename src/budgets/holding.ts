import type { BudgetNews } from '../contract/budget.ts';
import type { Ports } from '../platform/ports.ts';
import type { NewBudget } from '../store/budgets.ts';
import {
  type BucketState,
  currentLease,
  isIdle,
  isShortOf,
  newHolding,
  nextReportInMs,
  type Outgoing,
  reportOf,
  type Spending,
} from './holding-state.ts';
import { type HoldingEvent, reduceHolding } from './reduce.ts';

export interface Holding {
  readonly budget: NewBudget;
  restate(next: NewBudget): void;
  addDemand(weight: number): void;
  spendable(): number;
  spend(weight: number): Spending;
  settle(spending: Spending, isFree: boolean): void;
  learn(news: BudgetNews): void;
  /** `returnsTokens`: also the unspent ones. */
  pack(returnsTokens: boolean): Outgoing;
  /** After a failed report. If not certain, restores only late tokens. */
  unpack(outgoing: Outgoing, isCertain: boolean): void;
  receive(answer: BucketState, sentAtMs: number): void;
  forget(): void;
  isKnown(): boolean;
  limit(): number;
  opensInMs(): number;
  resetsInMs(): number;
  isShortOf(weight: number): boolean;
  nextReportInMs(): number | undefined;
  isIdle(): boolean;
}

export function createHolding(budget: NewBudget, ports: Pick<Ports, 'monotonicMs'>): Holding {
  const nowMs = () => ports.monotonicMs();
  let state = newHolding(budget, nowMs());
  const apply = (event: HoldingEvent, atMs = nowMs()) => {
    state = reduceHolding(state, event, atMs);
  };
  const msUntil = (delayMs: number | undefined) =>
    state.bucket && delayMs !== undefined ? Math.max(0, state.bucket.requestedAtMs + delayMs - nowMs()) : 0;

  return {
    get budget() {
      return state.budget;
    },
    restate: (next) => apply({ type: 'restated', budget: next }),
    addDemand: (weight) => apply({ type: 'demanded', weight }),
    spendable() {
      apply({ type: 'expired' });
      return currentLease(state)?.unspent ?? 0;
    },
    spend(weight) {
      apply({ type: 'spent', weight });
      return state.inFlight.at(-1) as Spending;
    },
    settle: (spending, isFree) => apply({ type: 'settled', spending, isFree }),
    learn: (news) => apply({ type: 'learned', news }),
    pack(returnsTokens) {
      const atMs = nowMs();
      apply({ type: 'closed', returnsTokens }, atMs);
      const outgoing = reportOf(state, atMs);
      apply({ type: 'reported' }, atMs);
      return outgoing;
    },
    unpack: (outgoing, isCertain) => apply({ type: 'unreported', outgoing, isCertain }),
    receive: (answer, sentAtMs) => apply({ type: 'received', answer, sentAtMs }),
    forget: () => apply({ type: 'forgotten' }),
    isKnown: () => state.bucket !== undefined,
    limit: () => state.bucket?.limit ?? state.budget.stated,
    opensInMs: () => msUntil(state.bucket?.opensInMs),
    resetsInMs: () => msUntil(state.bucket?.resetsInMs),
    isShortOf(weight) {
      apply({ type: 'expired' });
      return isShortOf(state, weight, nowMs());
    },
    nextReportInMs: () => nextReportInMs(state, nowMs()),
    isIdle: () => isIdle(state, nowMs()),
  };
}
