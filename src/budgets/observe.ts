import type { BudgetNews } from '../contract/budget.ts';
import { graceMs, type Observation, sameWindowMs } from '../schedule/bucket.ts';
import { currentLease, type HoldingState, markUnused, type Spending, withLease } from './holding-state.ts';

interface Reported {
  limit: number | undefined;
  remaining: number | undefined;
  resetsAtMs: number | undefined;
}

/** Kept for the next report, applied to the tokens now. */
export function observe(state: HoldingState, news: BudgetNews, nowMs: number): HoldingState {
  const request = oldestRequest(state);
  if (!request || !state.bucket) return state;
  const reported = readNews(news, nowMs);
  const observation = merge(
    state.observation,
    observationOf(state, state.bucket.limit, request, reported, nowMs),
    sameWindowMs(state.budget.periodSeconds),
  );
  const observed = { ...state, observation };
  return observation.windowNumber === state.bucket.windowNumber ? applyLocally(observed, reported) : observed;
}

/** The provider has counted all earlier ones. */
function oldestRequest({ inFlight: [first], lastSettled }: HoldingState): Spending | undefined {
  if (!first || !lastSettled) return first ?? lastSettled;
  return first.takenAtMs < lastSettled.takenAtMs ? first : lastSettled;
}

function readNews({ limit, remaining, resetsInSeconds }: BudgetNews, nowMs: number): Reported {
  const hasReset = resetsInSeconds !== undefined && Number.isFinite(resetsInSeconds);
  return {
    limit: whole(limit, 1),
    remaining: whole(remaining, 0),
    resetsAtMs: hasReset ? nowMs + resetsInSeconds * 1000 : undefined,
  };
}

function observationOf(
  { budget }: HoldingState,
  knownLimit: number,
  request: Spending,
  { limit, remaining, resetsAtMs }: Reported,
  nowMs: number,
): Observation {
  const used = remaining === undefined ? undefined : Math.max(0, (limit ?? knownLimit) - remaining);
  // Request duration, rounding to seconds.
  const errorMs = nowMs - request.takenAtMs + graceMs(budget.periodSeconds) / 2;
  return {
    windowNumber: request.windowNumber,
    limit,
    used,
    beyond: used === undefined ? undefined : used - request.spentBefore,
    resetsAtMs,
    resetsAtLeastMs: resetsAtMs === undefined ? undefined : resetsAtMs - errorMs,
  };
}

/** The later window; within one, the tightest bounds. */
function merge(before: Observation | undefined, after: Observation, toleranceMs: number): Observation {
  if (!before || after.windowNumber > before.windowNumber) return after;
  if (after.windowNumber < before.windowNumber) return before;
  const laterMs = (after.resetsAtMs ?? 0) - (before.resetsAtMs ?? after.resetsAtMs ?? 0);
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

/** Reports unexpected values immediately. */
function applyLocally(state: HoldingState, { limit, remaining, resetsAtMs }: Reported): HoldingState {
  const { bucket, budget } = state;
  const lease = currentLease(state);
  if (!lease || !bucket) return state;
  const earlierMs = resetsAtMs === undefined ? 0 : lease.endsAtMs - resetsAtMs;
  const isUnexpected =
    (remaining !== undefined && remaining < (lease.unspent + bucket.available) / 2) ||
    (limit !== undefined && limit !== bucket.limit) ||
    earlierMs > graceMs(budget.periodSeconds) ||
    earlierMs < -sameWindowMs(budget.periodSeconds);
  const excess = remaining === undefined ? 0 : Math.max(0, lease.unspent - remaining);
  const limited = {
    ...markUnused(lease, excess),
    endsAtMs: Math.min(lease.endsAtMs, resetsAtMs ?? lease.endsAtMs),
    validUntilMs: Math.min(lease.validUntilMs, resetsAtMs ?? lease.validUntilMs),
  };
  return { ...withLease(state, limited), isUrgent: state.isUrgent || isUnexpected };
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
