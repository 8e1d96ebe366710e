import type { BudgetNews } from '../contract/budget.ts';
import { blockMs } from '../schedule/bucket.ts';
import type { NewBudget } from '../store/budgets.ts';
import {
  type BucketState,
  currentLease,
  type HoldingState,
  hasReport,
  type Lease,
  leaseOf,
  markUnused,
  type Outgoing,
  reportableLate,
  type Spending,
  withLease,
} from './holding-state.ts';
import { observe } from './observe.ts';

export type HoldingEvent =
  /** By a new connector release. */
  | { type: 'restated'; budget: NewBudget }
  | { type: 'demanded'; weight: number }
  /** Unspent tokens may be no longer valid. */
  | { type: 'expired' }
  | { type: 'spent'; weight: number }
  | { type: 'settled'; spending: Spending; isFree: boolean }
  | { type: 'learned'; news: BudgetNews }
  /** Before a report. `returnsTokens`: also unspent ones. */
  | { type: 'closed'; returnsTokens: boolean }
  /** `reportOf` was sent. */
  | { type: 'reported' }
  /** Failed; `isCertain`: not stored. */
  | { type: 'unreported'; outgoing: Outgoing; isCertain: boolean }
  | { type: 'received'; answer: BucketState; sentAtMs: number }
  /** The bucket's row was deleted. */
  | { type: 'forgotten' };

/** How long "exhausted" is cached. */
const cacheMs = 5000;
/** Avoids polling a bucket about to open. */
const minCacheMs = 100;
/** Later, a request never settles: its run has ended. */
const unsettledMs = 15 * 60_000;

export function reduceHolding(state: HoldingState, event: HoldingEvent, nowMs: number): HoldingState {
  switch (event.type) {
    case 'restated':
      return { ...state, budget: event.budget };
    case 'demanded':
      return { ...state, demand: state.demand + event.weight };
    case 'expired':
      return expire(state, nowMs);
    case 'spent':
      return spend(state, event.weight, nowMs);
    case 'settled':
      return settle(state, event.spending, event.isFree, nowMs);
    case 'learned':
      return observe(state, event.news, nowMs);
    case 'closed':
      return close(expire(settleAbandoned(state, nowMs), nowMs), event.returnsTokens);
    case 'reported':
      return clearReported(state, nowMs);
    case 'unreported':
      return restore(state, event.outgoing, event.isCertain);
    case 'received':
      return receive(state, event.answer, event.sentAtMs, nowMs);
    case 'forgotten':
      return { ...state, bucket: undefined };
  }
}

function expire(state: HoldingState, nowMs: number): HoldingState {
  const lease = currentLease(state);
  const isExpired = lease && lease.unspent > 0 && nowMs >= lease.validUntilMs;
  return isExpired ? withLease(state, markUnused(lease)) : state;
}

function spend(state: HoldingState, weight: number, nowMs: number): HoldingState {
  const lease = currentLease(state) as Lease;
  const { windowNumber } = lease;
  const spending = { windowNumber, weight, spentBefore: state.bucket?.spent ?? 0, takenAtMs: nowMs };
  const spent = withLease(state, { ...lease, unspent: lease.unspent - weight });
  return { ...spent, lastTakenMs: nowMs, inFlight: [...state.inFlight, spending] };
}

function settle(state: HoldingState, spending: Spending, isFree: boolean, nowMs: number): HoldingState {
  const at = state.inFlight.indexOf(spending);
  if (at < 0) return state;
  const lease = leaseOf(state, spending.windowNumber) as Lease;
  const settled = isFree
    ? refund(lease, spending.weight, lease === currentLease(state) && nowMs < lease.validUntilMs)
    : count(lease, spending.weight, nowMs);
  return { ...withLease(state, settled), inFlight: state.inFlight.toSpliced(at, 1), lastSettled: spending };
}

const refund = (lease: Lease, weight: number, isValid: boolean): Lease =>
  isValid ? { ...lease, unspent: lease.unspent + weight } : { ...lease, unused: lease.unused + weight };

function count(lease: Lease, weight: number, nowMs: number): Lease {
  const answered = { ...lease, firstAnsweredAtMs: lease.firstAnsweredAtMs ?? nowMs };
  return nowMs < lease.endsAtMs
    ? { ...answered, answered: lease.answered + weight }
    : { ...answered, late: lease.late + weight };
}

function settleAbandoned(state: HoldingState, nowMs: number): HoldingState {
  return state.inFlight
    .filter(({ takenAtMs }) => nowMs - takenAtMs >= unsettledMs)
    .reduce((settled, spending) => settle(settled, spending, false, nowMs), state);
}

function close(state: HoldingState, returnsTokens: boolean): HoldingState {
  const current = currentLease(state);
  const leases = state.leases.map((lease) =>
    (returnsTokens || lease !== current) && lease.unspent > 0 ? markUnused(lease) : lease,
  );
  return { ...state, leases };
}

function clearReported(state: HoldingState, nowMs: number): HoldingState {
  const leases = state.leases.map((lease) => ({
    ...lease,
    answered: 0,
    unused: 0,
    late: lease.late - reportableLate(state, lease, nowMs),
  }));
  return { ...state, leases, observation: undefined, demand: 0, isUrgent: false };
}

/** If possibly stored, restores only late tokens: frees none twice. */
function restore(state: HoldingState, { returns }: Outgoing, isCertain: boolean): HoldingState {
  const leases = state.leases.map((lease) => {
    const report = returns.find(({ windowNumber }) => windowNumber === lease.windowNumber);
    if (!report) return lease;
    const late = lease.late + report.late;
    if (!isCertain) return { ...lease, late };
    return {
      ...lease,
      late,
      answered: lease.answered + report.answered,
      unused: lease.unused + report.unused,
    };
  });
  return { ...state, leases };
}

function receive(state: HoldingState, answer: BucketState, sentAtMs: number, nowMs: number): HoldingState {
  const received: HoldingState = {
    ...state,
    bucket: { ...answer, requestedAtMs: sentAtMs },
    clockOffsetMs: Math.max(state.clockOffsetMs, answer.atMs - nowMs),
    cachedUntilMs: Math.max(nowMs + minCacheMs, sentAtMs + Math.min(cacheMs, answer.opensInMs)),
    leases: withGrant(state, answer, sentAtMs),
  };
  const used = new Set(state.inFlight.map(({ windowNumber }) => windowNumber));
  const isKept = (lease: Lease) =>
    lease.windowNumber === answer.windowNumber ||
    used.has(lease.windowNumber) ||
    // The bucket ignores older reports.
    (lease.windowNumber >= answer.windowNumber - 1 &&
      (lease.unspent > 0 || lease.late > 0 || hasReport(state, lease, nowMs)));
  return { ...received, leases: received.leases.filter(isKept) };
}

function withGrant(state: HoldingState, answer: BucketState, sentAtMs: number): readonly Lease[] {
  const { windowNumber, granted, resetsInMs } = answer;
  const endsAtMs = sentAtMs + resetsInMs;
  const validUntilMs = Math.min(endsAtMs, sentAtMs + blockMs);
  const lease = leaseOf(state, windowNumber);
  if (lease)
    return withLease(state, { ...lease, unspent: lease.unspent + granted, validUntilMs, endsAtMs }).leases;
  if (granted === 0) return state.leases;
  const none = { firstAnsweredAtMs: undefined, answered: 0, late: 0, unused: 0 };
  return [...state.leases, { windowNumber, unspent: granted, validUntilMs, endsAtMs, ...none }];
}
