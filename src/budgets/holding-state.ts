import { type Exchange, graceMs, type Observation, type Return } from '../schedule/bucket.ts';
import type { NewBudget } from '../store/budgets.ts';

/**
 * A process's share of one bucket. `reduce.ts` has the transitions, `holding.ts` the state; `exchange.ts`
 * sends reports.
 *
 *   bucket ──received──▶ unspent ──spent──▶ in flight ──settled──▶ answered ─┐
 *                         │   ▲                │  │                          │
 *                         │   └─settled, free──┘  └──after the window──▶ late ─┼─reported──▶ bucket
 *                         └───expired, closed, learned────────────▶ unused ──┘
 *
 * Times are by the process's monotonic clock unless stated otherwise.
 */
export interface HoldingState {
  readonly budget: NewBudget;
  /** The bucket's last answer. */
  readonly bucket: (BucketState & { requestedAtMs: number }) | undefined;
  /** One per window: current, previous, and older ones with requests in flight. */
  readonly leases: readonly Lease[];
  /** By time. */
  readonly inFlight: readonly Spending[];
  readonly lastSettled: Spending | undefined;
  /** By the provider, since the last exchange. */
  readonly observation: Observation | undefined;
  readonly isUrgent: boolean;
  readonly demand: number;
  readonly lastTakenMs: number;
  readonly cachedUntilMs: number;
  /** Lower bound: database clock less this process's. */
  readonly clockOffsetMs: number;
}

/** Tokens leased in one window. */
export interface Lease {
  readonly windowNumber: number;
  readonly unspent: number;
  /** From before the request, so never too late. */
  readonly validUntilMs: number;
  /** Likewise. */
  readonly endsAtMs: number;
  readonly firstAnsweredAtMs: number | undefined;
  readonly answered: number;
  readonly late: number;
  readonly unused: number;
}

export interface Spending {
  readonly windowNumber: number;
  readonly weight: number;
  /** The window's known spending then. */
  readonly spentBefore: number;
  readonly takenAtMs: number;
}

export interface BucketState {
  /** By the database's clock. */
  readonly atMs: number;
  readonly windowNumber: number;
  readonly spent: number;
  readonly limit: number;
  /** For all processes. */
  readonly available: number;
  readonly granted: number;
  readonly resetsInMs: number;
  readonly opensInMs: number;
}

/** By the process's clock, except `resetsAtLeastMs`. */
export interface Outgoing extends Exchange {
  sentAtMs: number;
}

/** Without a request this long, returns unspent tokens. */
const idleMs = 1000;

export const newHolding = (budget: NewBudget, nowMs: number): HoldingState => ({
  budget,
  bucket: undefined,
  leases: [],
  inFlight: [],
  lastSettled: undefined,
  observation: undefined,
  isUrgent: false,
  demand: 0,
  lastTakenMs: nowMs,
  cachedUntilMs: 0,
  clockOffsetMs: Number.NEGATIVE_INFINITY,
});

export const leaseOf = ({ leases }: HoldingState, windowNumber: number | undefined): Lease | undefined =>
  leases.find((lease) => lease.windowNumber === windowNumber);
export const currentLease = (state: HoldingState) => leaseOf(state, state.bucket?.windowNumber);

export const withLease = (state: HoldingState, changed: Lease): HoldingState => ({
  ...state,
  leases: state.leases.map((lease) => (lease.windowNumber === changed.windowNumber ? changed : lease)),
});

export const markUnused = (lease: Lease, count = lease.unspent): Lease => ({
  ...lease,
  unspent: lease.unspent - count,
  unused: lease.unused + count,
});

/** By then, late tokens count in the next window. */
const lateReportAtMs = ({ budget }: HoldingState, lease: Lease) =>
  lease.endsAtMs + 2 * graceMs(budget.periodSeconds);
export const reportableLate = (state: HoldingState, lease: Lease, nowMs: number) =>
  nowMs >= lateReportAtMs(state, lease) ? lease.late : 0;
export const hasReport = (state: HoldingState, lease: Lease, nowMs: number) =>
  lease.answered > 0 || lease.unused > 0 || reportableLate(state, lease, nowMs) > 0;

/** Of a closed holding. */
export function reportOf(state: HoldingState, nowMs: number): Outgoing {
  const { budget, observation, demand, clockOffsetMs } = state;
  const returns = state.leases
    .filter((lease) => hasReport(state, lease, nowMs))
    .map((lease): Return => {
      const { windowNumber, endsAtMs, firstAnsweredAtMs, answered, unused } = lease;
      const late = reportableLate(state, lease, nowMs);
      return { windowNumber, endsAtMs, firstAnsweredAtMs, answered, late, unused };
    });
  const minMs = observation?.resetsAtLeastMs;
  const observed = observation && {
    ...observation,
    resetsAtLeastMs: minMs === undefined ? undefined : minMs + clockOffsetMs,
  };
  const { stated, periodSeconds } = budget;
  return { stated, periodSeconds, returns, observed, demand, sentAtMs: nowMs };
}

/** By the cached answer, too little is left. */
export const isShortOf = (state: HoldingState, weight: number, nowMs: number): boolean =>
  state.bucket !== undefined &&
  nowMs < state.cachedUntilMs &&
  (currentLease(state)?.unspent ?? 0) + state.bucket.available < weight;

/** Undefined: never. */
export function nextReportInMs(state: HoldingState, nowMs: number): number | undefined {
  if (state.isUrgent) return 0;
  const idleInMs = Math.max(0, state.lastTakenMs + idleMs - nowMs);
  let inMs = state.observation ? idleInMs : Number.POSITIVE_INFINITY;
  for (const lease of state.leases) {
    if (lease.unspent > 0 || lease.answered > 0 || lease.unused > 0) inMs = Math.min(inMs, idleInMs);
    if (lease.late > 0) inMs = Math.min(inMs, Math.max(0, lateReportAtMs(state, lease) - nowMs));
  }
  return inMs === Number.POSITIVE_INFINITY ? undefined : inMs;
}

export const isIdle = ({ inFlight, demand, lastTakenMs }: HoldingState, nowMs: number): boolean =>
  inFlight.length === 0 && demand === 0 && nowMs >= lastTakenMs + idleMs;
