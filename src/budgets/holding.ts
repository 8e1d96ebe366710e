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

export type Holding = ReturnType<typeof createHolding>;

export function createHolding(budget: NewBudget, ports: Pick<Ports, 'monotonicMs'>) {
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
    restate: (next: NewBudget) => apply({ type: 'restated', budget: next }),
    addDemand: (weight: number) => apply({ type: 'demanded', weight }),
    spendable(): number {
      apply({ type: 'expired' });
      return currentLease(state)?.unspent ?? 0;
    },
    spend(weight: number): Spending {
      apply({ type: 'spent', weight });
      return state.inFlight.at(-1) as Spending;
    },
    settle: (spending: Spending, isFree: boolean) => apply({ type: 'settled', spending, isFree }),
    learn: (news: BudgetNews) => apply({ type: 'learned', news }),
    /** `returnsTokens`: also the unspent tokens. */
    pack(returnsTokens: boolean): Outgoing {
      const atMs = nowMs();
      apply({ type: 'closed', returnsTokens }, atMs);
      const outgoing = reportOf(state, atMs);
      apply({ type: 'reported' }, atMs);
      return outgoing;
    },
    unpack: (outgoing: Outgoing, isCertain: boolean) => apply({ type: 'unreported', outgoing, isCertain }),
    receive: (answer: BucketState, sentAtMs: number) => apply({ type: 'received', answer, sentAtMs }),
    forget: () => apply({ type: 'forgotten' }),
    isKnown: () => state.bucket !== undefined,
    most: () => state.bucket?.most ?? state.budget.stated,
    opensInMs: () => msUntil(state.bucket?.opensInMs),
    resetsInMs: () => msUntil(state.bucket?.resetsInMs),
    isShortOf(weight: number): boolean {
      apply({ type: 'expired' });
      return isShortOf(state, weight, nowMs());
    },
    nextReportInMs: () => nextReportInMs(state, nowMs()),
    isIdle: () => isIdle(state, nowMs()),
  };
}
