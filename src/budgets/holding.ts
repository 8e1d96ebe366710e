import type { BudgetNews } from '../contract/budget.ts';
import type { Ports } from '../platform/ports.ts';
import {
  blockMs,
  type Exchange,
  graceMs,
  type Observation,
  type Return,
  sameWindowMs,
} from '../schedule/bucket.ts';
import type { NewBudget } from '../store/budgets.ts';

/** Tokens leased in one window. Times are by the process's monotonic clock. */
interface Lease {
  windowNumber: number;
  unspent: number;
  /** Counted from before the request, so never too late. */
  validUntilMs: number;
  /** End of the window, counted the same way. */
  endsAtMs: number;
  firstAnsweredAtMs: number | undefined;
  answered: number;
  late: number;
  unused: number;
}

export interface Spending {
  lease: Lease;
  weight: number;
  /** Known spending of the bucket's window at that time. */
  spentBefore: number;
  takenAtMs: number;
}

export interface BucketState {
  /** By the database's clock. */
  atMs: number;
  windowNumber: number;
  spent: number;
  most: number;
  /** For all processes. */
  available: number;
  granted: number;
  resetsInMs: number;
  opensInMs: number;
}

/** A report to the bucket. Times are by the process's clock, except `resetsAtLeastMs` (a lower bound). */
export interface Outgoing extends Exchange {
  sentAtMs: number;
}

/** How long "exhausted" is cached before the database is asked again. */
const cacheMs = 5000;
/** Avoids polling a bucket that is about to open. */
const minCacheMs = 100;
/** A request not settled within this time never will be: its run has ended. */
const unsettledMs = 15 * 60_000;
/** Unspent tokens are returned after this time without a request. */
const idleMs = 1000;

export type Holding = ReturnType<typeof createHolding>;

/** A process's share of one bucket. */
export function createHolding(initialBudget: NewBudget, ports: Ports) {
  let budget = initialBudget;
  const leases = new Map<number, Lease>();
  const inFlight = new Set<Spending>();
  const nowMs = () => ports.monotonicMs();
  let state: (BucketState & { requestedAtMs: number }) | undefined;
  let cachedUntilMs = 0;
  let demand = 0;
  let lastTakenMs = nowMs();
  let lastSettled: Spending | undefined;
  let observation: Observation | undefined;
  let isUrgent = false;
  /** Lower bound of the database's clock less this process's. */
  let clockOffsetMs = Number.NEGATIVE_INFINITY;

  const current = () => (state ? leases.get(state.windowNumber) : undefined);

  function spendable(): number {
    const lease = current();
    if (!lease) return 0;
    if (nowMs() >= lease.validUntilMs) markUnused(lease, lease.unspent);
    return lease.unspent;
  }

  function markUnused(lease: Lease, count: number): void {
    lease.unspent -= count;
    lease.unused += count;
  }

  function spend(weight: number): Spending {
    const lease = current() as Lease;
    lease.unspent -= weight;
    lastTakenMs = nowMs();
    const spending = {
      lease,
      weight,
      spentBefore: state?.spent ?? 0,
      takenAtMs: lastTakenMs,
    };
    inFlight.add(spending);
    return spending;
  }

  function settle(spending: Spending, isFree: boolean): void {
    if (!inFlight.delete(spending)) return;
    const { lease, weight } = spending;
    lastSettled = spending;
    if (isFree && lease === current() && nowMs() < lease.validUntilMs) lease.unspent += weight;
    else if (isFree) lease.unused += weight;
    if (isFree) return;
    lease.firstAnsweredAtMs ??= nowMs();
    if (nowMs() < lease.endsAtMs) lease.answered += weight;
    else lease.late += weight;
  }

  /** The provider has counted all spending before this request. */
  function oldestInFlight(): Spending | undefined {
    const [first] = inFlight;
    if (!first || !lastSettled) return first ?? lastSettled;
    return first.takenAtMs < lastSettled.takenAtMs ? first : lastSettled;
  }

  function learn(news: BudgetNews): void {
    const request = oldestInFlight();
    if (!request || !state) return;
    const limit = whole(news.limit, 1);
    const remaining = whole(news.remaining, 0);
    const resetsInSeconds = news.resetsInSeconds;
    const hasReset = resetsInSeconds !== undefined && Number.isFinite(resetsInSeconds);
    const resetsAtMs = hasReset ? nowMs() + resetsInSeconds * 1000 : undefined;
    // Request duration plus rounding to whole seconds.
    const errorMs = nowMs() - request.takenAtMs + graceMs(budget.periodSeconds) / 2;
    const resetsAtLeastMs = resetsAtMs === undefined ? undefined : resetsAtMs - errorMs;
    const used = remaining === undefined ? undefined : Math.max(0, (limit ?? state.most) - remaining);
    const beyond = used === undefined ? undefined : used - request.spentBefore;
    observation = merge(observation, {
      windowNumber: request.lease.windowNumber,
      limit,
      used,
      beyond,
      resetsAtMs,
      resetsAtLeastMs,
    });
    if (observation.windowNumber === state.windowNumber) applyLocally(limit, remaining, resetsAtMs);
  }

  /** Unexpected values are reported immediately. */
  function applyLocally(
    limit: number | undefined,
    remaining: number | undefined,
    resetsAtMs: number | undefined,
  ): void {
    const lease = current();
    if (!lease || !state) return;
    if (remaining !== undefined) {
      if (remaining < (lease.unspent + state.available) / 2) isUrgent = true;
      if (remaining < lease.unspent) markUnused(lease, lease.unspent - remaining);
    }
    if (limit !== undefined && limit !== state.most) isUrgent = true;
    if (resetsAtMs === undefined) return;
    const earlierMs = lease.endsAtMs - resetsAtMs;
    if (earlierMs > graceMs(budget.periodSeconds) || earlierMs < -sameWindowMs(budget.periodSeconds))
      isUrgent = true;
    lease.endsAtMs = Math.min(lease.endsAtMs, resetsAtMs);
    lease.validUntilMs = Math.min(lease.validUntilMs, resetsAtMs);
  }

  /** The later window wins; within one window, the tightest bounds. */
  function merge(before: Observation | undefined, after: Observation): Observation {
    if (!before || after.windowNumber > before.windowNumber) return after;
    if (after.windowNumber < before.windowNumber) return before;
    const laterMs = (after.resetsAtMs ?? 0) - (before.resetsAtMs ?? after.resetsAtMs ?? 0);
    const toleranceMs = sameWindowMs(budget.periodSeconds);
    if (laterMs > toleranceMs || (after.limit ?? before.limit) !== before.limit) return after;
    if (laterMs < -toleranceMs) return before;
    return {
      windowNumber: after.windowNumber,
      limit: before.limit,
      used: max(before.used, after.used),
      beyond: min(before.beyond, after.beyond),
      resetsAtMs: min(before.resetsAtMs, after.resetsAtMs),
      resetsAtLeastMs: max(before.resetsAtLeastMs, after.resetsAtLeastMs),
    };
  }

  const hasLate = (lease: Lease) => lease.late > 0 && nowMs() >= lateReportAtMs(lease);
  /** By then the bucket is in its next window, which counts the late tokens. */
  const lateReportAtMs = (lease: Lease) => lease.endsAtMs + 2 * graceMs(budget.periodSeconds);
  const hasReport = (lease: Lease) => lease.answered > 0 || lease.unused > 0 || hasLate(lease);

  /** `returnsTokens`: also the unspent tokens. */
  function pack(returnsTokens: boolean): Outgoing {
    settleAbandoned();
    spendable();
    const sentAtMs = nowMs();
    const returns: Return[] = [];
    for (const lease of leases.values()) {
      if (returnsTokens || lease !== current()) markUnused(lease, lease.unspent);
      if (!hasReport(lease)) continue;
      const late = hasLate(lease) ? lease.late : 0;
      const { windowNumber, endsAtMs, firstAnsweredAtMs, answered, unused } = lease;
      returns.push({ windowNumber, endsAtMs, firstAnsweredAtMs, answered, late, unused });
      Object.assign(lease, { answered: 0, unused: 0, late: lease.late - late });
    }
    const minMs = observation?.resetsAtLeastMs;
    const observed = observation && {
      ...observation,
      resetsAtLeastMs: minMs === undefined ? undefined : minMs + clockOffsetMs,
    };
    const packedDemand = demand;
    observation = undefined;
    demand = 0;
    isUrgent = false;
    const { stated, periodSeconds } = budget;
    return { stated, periodSeconds, returns, observed, demand: packedDemand, sentAtMs };
  }

  function settleAbandoned(): void {
    for (const spending of inFlight) {
      if (nowMs() - spending.takenAtMs < unsettledMs) return;
      settle(spending, false);
    }
  }

  /** Restores an unstored report. If it may have been stored, only late tokens, so none are freed twice. */
  function unpack({ returns }: Outgoing, isCertain: boolean): void {
    for (const { windowNumber, answered, late, unused } of returns) {
      const lease = leases.get(windowNumber);
      if (!lease) continue;
      lease.late += late;
      if (isCertain) lease.answered += answered;
      if (isCertain) lease.unused += unused;
    }
  }

  function receive(answer: BucketState, sentAtMs: number): void {
    const { windowNumber, granted, resetsInMs, opensInMs } = answer;
    state = { ...answer, requestedAtMs: sentAtMs };
    clockOffsetMs = Math.max(clockOffsetMs, answer.atMs - nowMs());
    cachedUntilMs = Math.max(nowMs() + minCacheMs, sentAtMs + Math.min(cacheMs, opensInMs));
    const endsAtMs = sentAtMs + resetsInMs;
    const validUntilMs = Math.min(endsAtMs, sentAtMs + blockMs);
    const lease = leases.get(windowNumber);
    if (lease) Object.assign(lease, { unspent: lease.unspent + granted, validUntilMs, endsAtMs });
    else if (granted > 0)
      leases.set(windowNumber, {
        windowNumber,
        unspent: granted,
        validUntilMs,
        endsAtMs,
        firstAnsweredAtMs: undefined,
        answered: 0,
        late: 0,
        unused: 0,
      });
    dropOldLeases(windowNumber);
  }

  function dropOldLeases(windowNumber: number): void {
    const used = new Set([...inFlight].map(({ lease }) => lease));
    for (const lease of leases.values()) {
      if (lease.windowNumber === windowNumber || used.has(lease)) continue;
      if (lease.unspent === 0 && lease.late === 0 && !hasReport(lease)) leases.delete(lease.windowNumber);
      // The bucket ignores reports older than the previous window.
      if (lease.windowNumber < windowNumber - 1) leases.delete(lease.windowNumber);
    }
  }

  return {
    get budget() {
      return budget;
    },
    /** A new release of the connector may change the limit. */
    restate: (next: NewBudget) => {
      budget = next;
    },
    spendable,
    spend,
    settle,
    learn,
    pack,
    unpack,
    receive,
    addDemand: (weight: number) => {
      demand += weight;
    },
    most: () => state?.most ?? budget.stated,
    /** According to the cached state, holding and bucket together have less. */
    isShortOf: (weight: number) =>
      state !== undefined && nowMs() < cachedUntilMs && spendable() + state.available < weight,
    opensInMs: () => (state ? Math.max(0, state.requestedAtMs + state.opensInMs - nowMs()) : 0),
    resetsInMs: () => (state ? Math.max(0, state.requestedAtMs + state.resetsInMs - nowMs()) : 0),
    isKnown: () => state !== undefined,
    forget: () => {
      state = undefined;
    },
    /** Undefined: nothing to report. */
    nextReportInMs(): number | undefined {
      if (isUrgent) return 0;
      const idleInMs = Math.max(0, lastTakenMs + idleMs - nowMs());
      let inMs: number | undefined = observation === undefined ? undefined : idleInMs;
      for (const lease of leases.values()) {
        if (lease.unspent > 0 || lease.answered > 0 || lease.unused > 0) inMs = min(inMs, idleInMs);
        if (lease.late > 0) inMs = min(inMs, Math.max(0, lateReportAtMs(lease) - nowMs()));
      }
      return inMs;
    },
    isIdle: () => inFlight.size === 0 && demand === 0 && nowMs() >= lastTakenMs + idleMs,
  };
}

function whole(value: number | undefined, minimum: number): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  const rounded = Math.floor(value);
  return rounded >= minimum && rounded < 2 ** 31 ? rounded : undefined;
}

const max = (a: number | undefined, b: number | undefined) =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
const min = (a: number | undefined, b: number | undefined) =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** As of arrival (`nowMs`), so no end is too early. */
export function onDatabaseClock({ sentAtMs, returns, observed, ...rest }: Outgoing, nowMs: number): Exchange {
  const shiftMs = nowMs - sentAtMs;
  const shifted = (ms: number | undefined) => (ms === undefined ? undefined : ms + shiftMs);
  return {
    ...rest,
    returns: returns.map((report) => ({
      ...report,
      endsAtMs: report.endsAtMs + shiftMs,
      firstAnsweredAtMs: shifted(report.firstAnsweredAtMs),
    })),
    observed: observed && {
      ...observed,
      resetsAtMs: shifted(observed.resetsAtMs),
    },
  };
}
