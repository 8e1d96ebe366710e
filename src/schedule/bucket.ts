/** A row of `budgets`: docs/decisions/0011-budgets-are-windows-in-blocks.md. */
export interface Bucket {
  limit: number;
  stated: number;
  periodSeconds: number;
  windowNumber: number;
  spent: number;
  drift: number;
  leased: number;
  carried: number;
  openedAtMs: number;
  /** The provider's window ends then or later. */
  resetsAtMs: number;
  /** By then, the provider's window is over. */
  opensAtMs: number;
  learnedAtMs: number | undefined;
}

/** One window's report, by database time. */
export interface Return {
  windowNumber: number;
  /** As the process knew. */
  endsAtMs: number;
  firstAnsweredAtMs: number | undefined;
  /** Response before the window's end. */
  answered: number;
  /** May count in the next window. */
  late: number;
  /** Not spent or not counted. */
  unused: number;
}

/** Merged rate limit headers of a process. */
export interface Observation {
  windowNumber: number;
  limit: number | undefined;
  /** Highest reported count. */
  used: number | undefined;
  /** Lowest excess over known spending. */
  beyond: number | undefined;
  /** Too late by the response latency. */
  resetsAtMs: number | undefined;
  /** Less the request's duration: a lower bound. */
  resetsAtLeastMs: number | undefined;
}

export interface Exchange {
  stated: number;
  periodSeconds: number;
  returns: readonly Return[];
  observed: Observation | undefined;
  demand: number;
}

/** Provider headers have whole seconds. */
export const graceMs = (periodSeconds: number) => Math.min(2000, periodSeconds * 100);
/** Closer ends: the same window. */
export const sameWindowMs = (periodSeconds: number) => periodSeconds * 500;
/** Unspent tokens are returned. */
export const blockMs = 30_000;
/** By then, requests are counted and silent processes dead. */
const carriedMs = 2 * blockMs;
/** A wrong header must not close a budget for years. */
const maxWindowMs = 7 * 24 * 3600 * 1000;

export function newBucket(stated: number, periodSeconds: number, nowMs: number): Bucket {
  const counts = { spent: 0, drift: 0, leased: 0, carried: 0 };
  const times = { ...windowTimes(nowMs, periodSeconds), learnedAtMs: undefined };
  return { limit: stated, stated, periodSeconds, windowNumber: 1, ...counts, ...times };
}

const windowTimes = (openedAtMs: number, periodSeconds: number) => ({
  openedAtMs,
  ...endingAt(openedAtMs + periodSeconds * 1000, periodSeconds),
});

const endingAt = (resetsAtMs: number, periodSeconds: number) => ({
  resetsAtMs,
  opensAtMs: resetsAtMs + graceMs(periodSeconds),
});

/** None between windows: either could count them. */
export function availableIn(bucket: Bucket, nowMs: number): number {
  const { limit, spent, drift, leased, carried } = bucket;
  if (nowMs >= bucket.resetsAtMs) return 0;
  return Math.max(0, Math.min(limit, limit - spent - drift) - leased - carried);
}

export const isOver = ({ opensAtMs }: Bucket, nowMs: number) => nowMs >= opensAtMs;
const isLearned = ({ learnedAtMs, openedAtMs }: Bucket) =>
  learnedAtMs !== undefined && learnedAtMs >= openedAtMs;

export function exchange(
  before: Bucket,
  { stated, periodSeconds, returns, observed, demand }: Exchange,
  nowMs: number,
): { bucket: Bucket; granted: number } {
  let bucket = onThisClock(restated(before, stated, periodSeconds), nowMs);
  if (isOver(bucket, nowMs)) bucket = nextWindow(bucket, nowMs);
  if (nowMs >= bucket.openedAtMs + carriedMs) bucket = { ...bucket, carried: 0 };
  for (const report of returns) bucket = applyReturn(bucket, report);
  if (observed) bucket = applyObservation(bucket, observed, nowMs);
  const granted = demand > 0 ? blockSize(bucket, demand, nowMs) : 0;
  return { bucket: { ...bucket, leased: bucket.leased + granted }, granted };
}

/** Until the provider reports one. */
function restated(bucket: Bucket, stated: number, periodSeconds: number): Bucket {
  if (bucket.stated === stated && bucket.periodSeconds === periodSeconds) return bucket;
  const limit = bucket.learnedAtMs === undefined ? stated : bucket.limit;
  return { ...bucket, limit, stated, periodSeconds };
}

/** Shifts a window opened by a clock ahead to now, or an exhausted budget stays closed. */
function onThisClock(bucket: Bucket, nowMs: number): Bucket {
  const aheadMs = bucket.openedAtMs - nowMs;
  if (aheadMs <= 0) return bucket;
  const { openedAtMs, resetsAtMs, opensAtMs, learnedAtMs } = bucket;
  return {
    ...bucket,
    openedAtMs: openedAtMs - aheadMs,
    resetsAtMs: resetsAtMs - aheadMs,
    opensAtMs: opensAtMs - aheadMs,
    learnedAtMs: learnedAtMs === undefined ? undefined : learnedAtMs - aheadMs,
  };
}

/** Carries leased tokens over until reported. */
function nextWindow(bucket: Bucket, nowMs: number): Bucket {
  const carried = nowMs >= bucket.resetsAtMs + carriedMs ? 0 : bucket.leased;
  const times = windowTimes(nowMs, bucket.periodSeconds);
  const windowNumber = bucket.windowNumber + 1;
  return { ...bucket, ...times, windowNumber, spent: 0, drift: 0, leased: 0, carried };
}

function applyReturn(bucket: Bucket, report: Return): Bucket {
  const { windowNumber, endsAtMs, answered, late, unused } = report;
  const all = answered + late + unused;
  if (windowNumber === bucket.windowNumber)
    return {
      ...bucket,
      leased: Math.max(0, bucket.leased - all),
      spent: bucket.spent + answered + late,
      opensAtMs: opensAfter(bucket, report.firstAnsweredAtMs),
    };
  if (windowNumber !== bucket.windowNumber - 1) return bucket;
  // Ended earlier than known: `answered` tokens may be late.
  const counted = endsAtMs > bucket.openedAtMs ? late + answered : late;
  return { ...bucket, carried: Math.max(0, bucket.carried - all), spent: bucket.spent + counted };
}

/** Without a reported end, a window starts at the latest with the first response. */
function opensAfter(bucket: Bucket, firstAnsweredAtMs: number | undefined): number {
  const { spent, periodSeconds, opensAtMs } = bucket;
  if (firstAnsweredAtMs === undefined || isLearned(bucket)) return opensAtMs;
  const afterMs = firstAnsweredAtMs + periodSeconds * 1000 + graceMs(periodSeconds);
  return spent === 0 ? Math.max(opensAtMs, afterMs) : Math.min(opensAtMs, afterMs);
}

function applyObservation(bucket: Bucket, reported: Observation, nowMs: number): Bucket {
  const isFirst = !isLearned(bucket);
  const observed = asOfThisWindow(bucket, reported, isFirst);
  if (!observed) return bucket;
  const toMs = Math.min(observed.resetsAtMs ?? bucket.resetsAtMs, nowMs + maxWindowMs);
  if (toMs <= nowMs) return bucket;
  const laterMs = toMs - bucket.resetsAtMs;
  const isOtherWindow = Math.abs(laterMs) > sameWindowMs(bucket.periodSeconds);
  // Much earlier: the previous window.
  if (isOtherWindow && laterMs < 0 && !isFirst) return bucket;
  const isNew = isFirst || isOtherWindow;
  return {
    ...bucket,
    limit: observed.limit ?? bucket.limit,
    ...endingAt(isNew ? toMs : Math.min(bucket.resetsAtMs, toMs), bucket.periodSeconds),
    drift: driftOf(bucket, observed, isNew),
    carried: observed === reported ? bucket.carried : 0,
    learnedAtMs: nowMs,
  };
}

/**
 * An earlier observation applies only if the provider's window continued into this one; then everything
 * counted or carried over counts here.
 */
function asOfThisWindow(bucket: Bucket, reported: Observation, isFirst: boolean): Observation | undefined {
  if (reported.windowNumber === bucket.windowNumber) return reported;
  const hasContinued = (reported.resetsAtLeastMs ?? 0) > bucket.openedAtMs;
  const isPrevious = reported.windowNumber === bucket.windowNumber - 1;
  if (!isFirst || !hasContinued || !isPrevious || reported.used === undefined) return undefined;
  return { ...reported, beyond: reported.used + bucket.carried };
}

/**
 * Other clients' usage: at most `beyond`, at least `used` less our possibly counted tokens. A new window
 * starts at the maximum.
 */
function driftOf(bucket: Bucket, { used, beyond }: Observation, isNew: boolean): number {
  if (used === undefined || beyond === undefined) return bucket.drift;
  if (isNew) return beyond;
  const min = used - bucket.spent - bucket.leased - bucket.carried;
  return Math.min(Math.max(bucket.drift, min), beyond);
}

/** Few statements, few tokens lost with a process. */
const blocksPerBucket = 50;
const maxBlockTokens = 100;
/** Shrinks with the tokens left: few are idle. */
const availableShare = 4;

function blockSize(bucket: Bucket, demand: number, nowMs: number): number {
  const available = availableIn(bucket, nowMs);
  const standard = Math.min(maxBlockTokens, Math.ceil(bucket.limit / blocksPerBucket));
  return Math.min(available, Math.max(demand, Math.min(standard, Math.ceil(available / availableShare))));
}
