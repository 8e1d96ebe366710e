/**
 * A bucket of the fleet, as it is in its row, and everything that can happen to it. Pure: the row is locked, decided about
 * here and written back. Why no window of the provider ever sees more than its limit:
 * docs/decisions/0011-budgets-are-windows-in-blocks.md.
 */
export interface Bucket {
  most: number;
  stated: number;
  periodSeconds: number;
  windowNumber: number;
  spent: number;
  drift: number;
  leased: number;
  carried: number;
  openedAtMs: number;
  /** Until then its tokens may be spent: the window of the provider lasts at least so long. */
  resetsAtMs: number;
  /** From then on the next window may begin: that of the provider is certainly over. */
  opensAtMs: number;
  learnedAtMs: number | undefined;
}

/** What a process says of the tokens that it took in one window. */
export interface Return {
  windowNumber: number;
  /** When that window was to end, as far as the process knew, by the clock of the database. */
  endsAtMs: number;
  /** When the first one was answered, by the same clock. */
  firstAnsweredAtMs: number | undefined;
  /** Spent, and answered before that window was to end. */
  answered: number;
  /** Spent, and answered afterwards: the provider may have counted it in the next one. */
  late: number;
  /** Not spent, or not counted by the provider. */
  unused: number;
}

/** What the provider's answers to a process said, put together. */
export interface Observation {
  windowNumber: number;
  limit: number | undefined;
  /** The most that the provider said to have counted. */
  used: number | undefined;
  /** The least that it had counted beyond what was known to be spent when the request was sent. */
  beyond: number | undefined;
  /** When its window ends, by the clock of the database: too late by as long as the answer was under way. */
  resetsAtMs: number | undefined;
  /** The same less as long as the request was under way altogether: it ends no sooner. */
  resetsAtLeastMs: number | undefined;
}

export interface Exchange {
  stated: number;
  periodSeconds: number;
  returns: readonly Return[];
  observed: Observation | undefined;
  /** What is waited for; none if nobody waits. */
  demand: number;
}

/** How long after its end a window may be thought to go on: providers write the end in whole seconds, so does `Date`. */
export const graceMs = (periodSeconds: number) => Math.min(2000, periodSeconds * 100);
/**
 * Ends that lie closer together than this are the same end: rounded differently, or told by an answer that took long and so
 * seems later than it is. The ends of two windows are a whole period apart.
 */
export const apartMs = (periodSeconds: number) => periodSeconds * 500;
/** A block is used within this time or given back: nothing that a process does not know by then can be of consequence. */
export const blockMs = 30_000;
/** A request that has been under way for so long has been counted by now, and a process silent for so long is dead. */
const carriedMs = 2 * blockMs;
/** A mistaken header must not close a budget for years. */
const maxWindowMs = 7 * 24 * 3600 * 1000;

export function newBucket(stated: number, periodSeconds: number, nowMs: number): Bucket {
  const counts = { spent: 0, drift: 0, leased: 0, carried: 0 };
  const times = { ...timesOf(nowMs, periodSeconds), learnedAtMs: undefined };
  return { most: stated, stated, periodSeconds, windowNumber: 1, ...counts, ...times };
}

const timesOf = (openedAtMs: number, periodSeconds: number) => ({
  openedAtMs,
  ...endingAt(openedAtMs + periodSeconds * 1000, periodSeconds),
});

const endingAt = (resetsAtMs: number, periodSeconds: number) => ({
  resetsAtMs,
  opensAtMs: resetsAtMs + graceMs(periodSeconds),
});

/** What may still be given out. Between the end of one window and the next nothing is: nobody knows where it would count. */
export function availableIn(bucket: Bucket, nowMs: number): number {
  const { most, spent, drift, leased, carried } = bucket;
  if (nowMs >= bucket.resetsAtMs) return 0;
  return Math.max(0, Math.min(most, most - spent - drift) - leased - carried);
}

export const isOver = ({ opensAtMs }: Bucket, nowMs: number) => nowMs >= opensAtMs;
const isLearned = ({ learnedAtMs, openedAtMs }: Bucket) =>
  learnedAtMs !== undefined && learnedAtMs >= openedAtMs;

/** Takes in what a process brings, and gives it tokens if it waits for some. */
export function exchange(
  before: Bucket,
  { stated, periodSeconds, returns, observed, demand }: Exchange,
  nowMs: number,
): { bucket: Bucket; granted: number } {
  let bucket = onThisClock(restated(before, stated, periodSeconds), nowMs);
  if (isOver(bucket, nowMs)) bucket = nextWindow(bucket, nowMs);
  // Whoever has not come back by now will not.
  if (nowMs >= bucket.openedAtMs + carriedMs) bucket = { ...bucket, carried: 0 };
  for (const one of returns) bucket = returned(bucket, one);
  if (observed) bucket = informed(bucket, observed, nowMs);
  const granted = demand > 0 ? blockOf(bucket, demand, nowMs) : 0;
  return { bucket: { ...bucket, leased: bucket.leased + granted }, granted };
}

/** The connector's own word counts until the provider has spoken. */
function restated(bucket: Bucket, stated: number, periodSeconds: number): Bucket {
  if (bucket.stated === stated && bucket.periodSeconds === periodSeconds) return bucket;
  const most = bucket.learnedAtMs === undefined ? stated : bucket.most;
  return { ...bucket, most, stated, periodSeconds };
}

/**
 * A window that opens in the future was opened by a clock that has been set back since, or by that of another server. It
 * lasts no longer for that: else a budget that is used up would stay closed for as long as the clock was wrong.
 */
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

/** What is leased goes on to count, until those who hold it say that it is of no consequence. */
function nextWindow(bucket: Bucket, nowMs: number): Bucket {
  const carried = nowMs >= bucket.resetsAtMs + carriedMs ? 0 : bucket.leased;
  const times = timesOf(nowMs, bucket.periodSeconds);
  const windowNumber = bucket.windowNumber + 1;
  return { ...bucket, ...times, windowNumber, spent: 0, drift: 0, leased: 0, carried };
}

function returned(bucket: Bucket, told: Return): Bucket {
  const { windowNumber, endsAtMs, answered, late, unused } = told;
  const all = answered + late + unused;
  if (windowNumber === bucket.windowNumber)
    return {
      ...bucket,
      leased: Math.max(0, bucket.leased - all),
      spent: bucket.spent + answered + late,
      opensAtMs: opensAfter(bucket, told.firstAnsweredAtMs),
    };
  if (windowNumber !== bucket.windowNumber - 1) return bucket;
  // Where the window ended sooner than the process knew, what it took to be in time may have been late.
  const counted = endsAtMs > bucket.openedAtMs ? late + answered : late;
  return { ...bucket, carried: Math.max(0, bucket.carried - all), spent: bucket.spent + counted };
}

/**
 * A provider that does not say when its window ends is taken to begin it with the first request, which had arrived when it
 * was answered. Of several processes, the first answer counts.
 */
function opensAfter(bucket: Bucket, firstAnsweredAtMs: number | undefined): number {
  const { spent, periodSeconds, opensAtMs } = bucket;
  if (firstAnsweredAtMs === undefined || isLearned(bucket)) return opensAtMs;
  const afterMs = firstAnsweredAtMs + periodSeconds * 1000 + graceMs(periodSeconds);
  return spent === 0 ? Math.max(opensAtMs, afterMs) : Math.min(opensAtMs, afterMs);
}

/** Adopts what the provider said, unless it said it of a window that is over. */
function informed(bucket: Bucket, told: Observation, nowMs: number): Bucket {
  const isFirst = !isLearned(bucket);
  const observed = asOfThisWindow(bucket, told, isFirst);
  if (!observed) return bucket;
  const toMs = Math.min(observed.resetsAtMs ?? bucket.resetsAtMs, nowMs + maxWindowMs);
  if (toMs <= nowMs) return bucket;
  const laterMs = toMs - bucket.resetsAtMs;
  const isApart = Math.abs(laterMs) > apartMs(bucket.periodSeconds);
  // Once the provider has said when its window ends, a much earlier end is that of the window before.
  if (isApart && laterMs < 0 && !isFirst) return bucket;
  const isNew = isFirst || isApart;
  return {
    ...bucket,
    most: observed.limit ?? bucket.most,
    ...endingAt(isNew ? toMs : Math.min(bucket.resetsAtMs, toMs), bucket.periodSeconds),
    drift: driftOf(bucket, observed, isNew),
    carried: observed === told ? bucket.carried : 0,
    learnedAtMs: nowMs,
  };
}

/**
 * What was said to a request of the window before is of this one only if the provider's window certainly went on when this
 * one was opened: nobody had known its end. All that the provider has counted then counts here, and all that is carried
 * over, whatever its processes will say of it.
 */
function asOfThisWindow(bucket: Bucket, told: Observation, isFirst: boolean): Observation | undefined {
  if (told.windowNumber === bucket.windowNumber) return told;
  const wentOn = (told.resetsAtLeastMs ?? 0) > bucket.openedAtMs;
  const isBefore = told.windowNumber === bucket.windowNumber - 1;
  if (!isFirst || !wentOn || !isBefore || told.used === undefined) return undefined;
  return { ...told, beyond: told.used + bucket.carried };
}

/**
 * The provider counts at most `beyond` more than is known to be spent, and at least `used` less everything of ours that it
 * can have counted. What is believed stays where it is between the two; a new window begins with the most.
 */
function driftOf(bucket: Bucket, { used, beyond }: Observation, isNew: boolean): number {
  if (used === undefined || beyond === undefined) return bucket.drift;
  if (isNew) return beyond;
  const least = used - bucket.spent - bucket.leased - bucket.carried;
  return Math.min(Math.max(bucket.drift, least), beyond);
}

/** Statements per request stay few, and what a process that dies takes with it stays little. */
const blocksOfABucket = 50;
const maxInABlock = 100;
/** What little is left is given in small blocks, so that it does not lie with one while another waits. */
const shareOfTheRest = 4;

function blockOf(bucket: Bucket, demand: number, nowMs: number): number {
  const available = availableIn(bucket, nowMs);
  const usual = Math.min(maxInABlock, Math.ceil(bucket.most / blocksOfABucket));
  return Math.min(available, Math.max(demand, Math.min(usual, Math.ceil(available / shareOfTheRest))));
}
