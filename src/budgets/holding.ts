import type { BudgetNews } from '../contract/budget.ts';
import type { Ports } from '../platform/ports.ts';
import {
  apartMs,
  blockMs,
  type Exchange,
  graceMs,
  type Observation,
  type Return,
} from '../schedule/bucket.ts';
import type { NewBudget } from '../store/budgets.ts';

/** The tokens that this process took in one window. */
interface Lease {
  windowNumber: number;
  unspent: number;
  /** By the process's own clock, counted from before they were asked for: never too late. */
  validUntilMs: number;
  /** When the window ends, counted the same way. */
  endsAtMs: number;
  firstAnsweredAtMs: number | undefined;
  answered: number;
  late: number;
  unused: number;
}

/** What was taken from one bucket for one request. */
export interface Spending {
  lease: Lease;
  weight: number;
  /** What was known to be spent in the bucket's window when it was taken. */
  spentBefore: number;
  takenAtMs: number;
}

/** How the bucket was when it was last asked. */
export interface BucketState {
  /** When that was, by the clock of the database. */
  atMs: number;
  windowNumber: number;
  spent: number;
  most: number;
  /** What is left there for everybody. */
  available: number;
  granted: number;
  resetsInMs: number;
  opensInMs: number;
}

/** What a process brings to the bucket, all times by its own clock but the one that must not seem later than it is. */
export interface Outgoing extends Exchange {
  sentAtMs: number;
}

/** Whoever parks is told by the process itself, for so long; then somebody looks whether tokens have come back. */
const believedMs = 5000;
/** A bucket that opens in this instant is not asked again and again until it has. */
const minBelievedMs = 100;
/** A request that nobody has settled in this time never will be: its run has ended. */
const forgottenMs = 15 * 60_000;
/** Unspent tokens go back when nobody has taken any for so long. */
const idleMs = 1000;

export type Holding = ReturnType<typeof createHolding>;

/** A process's share of one bucket: what it may spend without asking, and what it has to tell. */
export function createHolding(given: NewBudget, ports: Ports) {
  let budget = given;
  const leases = new Map<number, Lease>();
  const underWay = new Set<Spending>();
  const nowMs = () => ports.monotonicMs();
  let state: (BucketState & { askedAtMs: number }) | undefined;
  let believedUntilMs = 0;
  let demand = 0;
  let lastTakenMs = nowMs();
  let lastSettled: Spending | undefined;
  let seen: Observation | undefined;
  let isUrgent = false;
  /** How much further the database's clock is at least. */
  let aheadMs = Number.NEGATIVE_INFINITY;

  const current = () => (state ? leases.get(state.windowNumber) : undefined);

  /** What may be spent right now. Tokens whose time is over are put aside, to be given back. */
  function spendable(): number {
    const lease = current();
    if (!lease) return 0;
    if (nowMs() >= lease.validUntilMs) putAside(lease, lease.unspent);
    return lease.unspent;
  }

  function putAside(lease: Lease, count: number): void {
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
    underWay.add(spending);
    return spending;
  }

  function settle(spending: Spending, isFree: boolean): void {
    if (!underWay.delete(spending)) return;
    const { lease, weight } = spending;
    lastSettled = spending;
    if (isFree && lease === current() && nowMs() < lease.validUntilMs) lease.unspent += weight;
    else if (isFree) lease.unused += weight;
    if (isFree) return;
    lease.firstAnsweredAtMs ??= nowMs();
    if (nowMs() < lease.endsAtMs) lease.answered += weight;
    else lease.late += weight;
  }

  /** The request under way that was sent first: what was spent before it has been counted, whichever answer this is. */
  function oldest(): Spending | undefined {
    const [first] = underWay;
    if (!first || !lastSettled) return first ?? lastSettled;
    return first.takenAtMs < lastSettled.takenAtMs ? first : lastSettled;
  }

  function learn(news: BudgetNews): void {
    const by = oldest();
    if (!by || !state) return;
    const limit = whole(news.limit, 1);
    const remaining = whole(news.remaining, 0);
    const resetsInSeconds = news.resetsInSeconds;
    const hasReset = resetsInSeconds !== undefined && Number.isFinite(resetsInSeconds);
    const resetsAtMs = hasReset ? nowMs() + resetsInSeconds * 1000 : undefined;
    // As long as it was under way, and an end in whole seconds less a date in whole seconds.
    const lessMs = nowMs() - by.takenAtMs + graceMs(budget.periodSeconds) / 2;
    const resetsAtLeastMs = resetsAtMs === undefined ? undefined : resetsAtMs - lessMs;
    const used = remaining === undefined ? undefined : Math.max(0, (limit ?? state.most) - remaining);
    const beyond = used === undefined ? undefined : used - by.spentBefore;
    seen = merged(seen, {
      windowNumber: by.lease.windowNumber,
      limit,
      used,
      beyond,
      resetsAtMs,
      resetsAtLeastMs,
    });
    if (seen.windowNumber === state.windowNumber) heed(limit, remaining, resetsAtMs);
  }

  /** What the provider says counts here at once; the fleet hears of it at once where it was not known. */
  function heed(
    limit: number | undefined,
    remaining: number | undefined,
    resetsAtMs: number | undefined,
  ): void {
    const lease = current();
    if (!lease || !state) return;
    if (remaining !== undefined) {
      if (remaining < (lease.unspent + state.available) / 2) isUrgent = true;
      if (remaining < lease.unspent) putAside(lease, lease.unspent - remaining);
    }
    if (limit !== undefined && limit !== state.most) isUrgent = true;
    if (resetsAtMs === undefined) return;
    const earlierMs = lease.endsAtMs - resetsAtMs;
    if (earlierMs > graceMs(budget.periodSeconds) || earlierMs < -apartMs(budget.periodSeconds))
      isUrgent = true;
    lease.endsAtMs = Math.min(lease.endsAtMs, resetsAtMs);
    lease.validUntilMs = Math.min(lease.validUntilMs, resetsAtMs);
  }

  /** Of two answers: the provider's later window counts; in the same one, the tightest bounds. */
  function merged(before: Observation | undefined, after: Observation): Observation {
    if (!before || after.windowNumber > before.windowNumber) return after;
    if (after.windowNumber < before.windowNumber) return before;
    const laterMs = (after.resetsAtMs ?? 0) - (before.resetsAtMs ?? after.resetsAtMs ?? 0);
    const apart = apartMs(budget.periodSeconds);
    if (laterMs > apart || (after.limit ?? before.limit) !== before.limit) return after;
    if (laterMs < -apart) return before;
    return {
      windowNumber: after.windowNumber,
      limit: before.limit,
      used: most(before.used, after.used),
      beyond: least(before.beyond, after.beyond),
      resetsAtMs: least(before.resetsAtMs, after.resetsAtMs),
      resetsAtLeastMs: most(before.resetsAtLeastMs, after.resetsAtLeastMs),
    };
  }

  const hasLate = (lease: Lease) => lease.late > 0 && nowMs() >= lateIsKnownMs(lease);
  /** By then the bucket is in its next window, in which they are to be counted. */
  const lateIsKnownMs = (lease: Lease) => lease.endsAtMs + 2 * graceMs(budget.periodSeconds);
  const hasToTell = (lease: Lease) => lease.answered > 0 || lease.unused > 0 || hasLate(lease);

  /** Everything that is to be told, and forgotten here; the tokens that are left as well, if nobody is using them. */
  function pack(givesBack: boolean): Outgoing {
    forgetLost();
    spendable();
    const sentAtMs = nowMs();
    const returns: Return[] = [];
    for (const lease of leases.values()) {
      if (givesBack || lease !== current()) putAside(lease, lease.unspent);
      if (!hasToTell(lease)) continue;
      const late = hasLate(lease) ? lease.late : 0;
      const { windowNumber, endsAtMs, firstAnsweredAtMs, answered, unused } = lease;
      returns.push({ windowNumber, endsAtMs, firstAnsweredAtMs, answered, late, unused });
      Object.assign(lease, { answered: 0, unused: 0, late: lease.late - late });
    }
    const minMs = seen?.resetsAtLeastMs;
    const observed = seen && {
      ...seen,
      resetsAtLeastMs: minMs === undefined ? undefined : minMs + aheadMs,
    };
    const asked = demand;
    seen = undefined;
    demand = 0;
    isUrgent = false;
    const { stated, periodSeconds } = budget;
    return { stated, periodSeconds, returns, observed, demand: asked, sentAtMs };
  }

  function forgetLost(): void {
    for (const spending of underWay) {
      if (nowMs() - spending.takenAtMs < forgottenMs) return;
      settle(spending, false);
    }
  }

  /** It was not stored, certainly or perhaps. What is told twice must not make more than there is. */
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
    state = { ...answer, askedAtMs: sentAtMs };
    aheadMs = Math.max(aheadMs, answer.atMs - nowMs());
    believedUntilMs = Math.max(nowMs() + minBelievedMs, sentAtMs + Math.min(believedMs, opensInMs));
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
    const used = new Set([...underWay].map(({ lease }) => lease));
    for (const lease of leases.values()) {
      if (lease.windowNumber === windowNumber || used.has(lease)) continue;
      if (lease.unspent === 0 && lease.late === 0 && !hasToTell(lease)) leases.delete(lease.windowNumber);
      // Nobody asks for it any more.
      if (lease.windowNumber < windowNumber - 1) leases.delete(lease.windowNumber);
    }
  }

  return {
    get budget() {
      return budget;
    },
    /** A new release may say another limit than the one before. */
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
    wants: (weight: number) => {
      demand += weight;
    },
    most: () => state?.most ?? budget.stated,
    /** Whether it is known that there is not so much, here or in the bucket. */
    isShortOf: (weight: number) =>
      state !== undefined && nowMs() < believedUntilMs && spendable() + state.available < weight,
    /** When the next window opens; only where one is known. */
    opensInMs: () => (state ? Math.max(0, state.askedAtMs + state.opensInMs - nowMs()) : 0),
    resetsInMs: () => (state ? Math.max(0, state.askedAtMs + state.resetsInMs - nowMs()) : 0),
    isKnown: () => state !== undefined,
    forget: () => {
      state = undefined;
    },
    /** In how long something is to be told by itself; undefined if there is nothing. */
    tellsInMs(): number | undefined {
      if (isUrgent) return 0;
      const idleInMs = Math.max(0, lastTakenMs + idleMs - nowMs());
      let inMs: number | undefined = seen === undefined ? undefined : idleInMs;
      for (const lease of leases.values()) {
        if (lease.unspent > 0 || lease.answered > 0 || lease.unused > 0) inMs = least(inMs, idleInMs);
        if (lease.late > 0) inMs = least(inMs, Math.max(0, lateIsKnownMs(lease) - nowMs()));
      }
      return inMs;
    },
    isIdle: () => underWay.size === 0 && demand === 0 && nowMs() >= lastTakenMs + idleMs,
  };
}

function whole(value: number | undefined, smallest: number): number | undefined {
  if (value === undefined || !Number.isFinite(value)) return undefined;
  const rounded = Math.floor(value);
  return rounded >= smallest && rounded < 2 ** 31 ? rounded : undefined;
}

const most = (a: number | undefined, b: number | undefined) =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b);
const least = (a: number | undefined, b: number | undefined) =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** The same by the clock of the database, on which it is `nowMs` when this arrives: so nothing is thought to end too soon. */
export function onItsClock({ sentAtMs, returns, observed, ...rest }: Outgoing, nowMs: number): Exchange {
  const shiftMs = nowMs - sentAtMs;
  const shifted = (ms: number | undefined) => (ms === undefined ? undefined : ms + shiftMs);
  return {
    ...rest,
    returns: returns.map((one) => ({
      ...one,
      endsAtMs: one.endsAtMs + shiftMs,
      firstAnsweredAtMs: shifted(one.firstAnsweredAtMs),
    })),
    observed: observed && {
      ...observed,
      resetsAtMs: shifted(observed.resetsAtMs),
    },
  };
}
