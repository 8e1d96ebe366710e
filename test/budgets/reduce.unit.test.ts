import { describe, expect, it } from 'vitest';
import {
  type BucketState,
  currentLease,
  type HoldingState,
  isIdle,
  isShortOf,
  newHolding,
  nextReportInMs,
  reportOf,
  type Spending,
} from '../../src/budgets/holding-state.ts';
import { type HoldingEvent, reduceHolding } from '../../src/budgets/reduce.ts';
import { testBudget } from './test-budget.ts';

const budget = testBudget(100, 60);
const fresh = newHolding(budget, 0);

const answer = (changes: Partial<BucketState> = {}): HoldingEvent => ({
  type: 'received',
  answer: {
    atMs: 1_000_000,
    windowNumber: 1,
    spent: 0,
    limit: 100,
    available: 90,
    granted: 10,
    resetsInMs: 60_000,
    opensInMs: 60_000,
    ...changes,
  },
  sentAtMs: 0,
});

/** Applies [time, event] pairs. */
const play = (state: HoldingState, ...steps: [nowMs: number, event: HoldingEvent][]) =>
  steps.reduce((reached, [nowMs, event]) => reduceHolding(reached, event, nowMs), state);
const granted = play(fresh, [10, answer()]);
const spent = play(granted, [20, { type: 'spent', weight: 3 }]);
const request = spent.inFlight[0] as Spending;
const settled = (isFree = false, spending = request): HoldingEvent => ({ type: 'settled', spending, isFree });

describe('budgets: the state of a holding', () => {
  it('budgets: a grant can be spent until the block or the window ends', () => {
    expect(currentLease(granted)).toMatchObject({ unspent: 10, validUntilMs: 30_000, endsAtMs: 60_000 });
    expect(play(granted, [29_999, { type: 'expired' }])).toBe(granted);
    const expired = play(granted, [30_000, { type: 'expired' }]);
    expect(currentLease(expired)).toMatchObject({ unspent: 0, unused: 10 });
    const short = play(fresh, [10, answer({ resetsInMs: 500 })]);
    expect(currentLease(short)?.validUntilMs).toBe(500);
  });

  it('budgets: a spent token is in flight until it is settled, once', () => {
    expect(currentLease(spent)?.unspent).toBe(7);
    expect(spent.inFlight).toEqual([{ windowNumber: 1, weight: 3, spentBefore: 0, takenAtMs: 20 }]);
    const once = play(spent, [30, settled()]);
    expect(once.inFlight).toEqual([]);
    expect(currentLease(once)).toMatchObject({ answered: 3, late: 0, firstAnsweredAtMs: 30 });
    expect(play(once, [40, settled()])).toBe(once);
  });

  it('budgets: a free request returns its tokens to the block while it is valid', () => {
    expect(currentLease(play(spent, [30, settled(true)]))).toMatchObject({ unspent: 10, unused: 0 });
    expect(currentLease(play(spent, [30_000, settled(true)]))).toMatchObject({ unspent: 7, unused: 3 });
  });

  it('budgets: an answer after the window is late, and reported when the next window counts it', () => {
    const late = play(spent, [60_000, settled()], [60_000, { type: 'closed', returnsTokens: false }]);
    expect(currentLease(late)).toMatchObject({ answered: 0, late: 3 });
    expect(reportOf(late, 60_000).returns).toMatchObject([{ late: 0, unused: 7 }]);
    expect(reportOf(late, 64_000).returns).toMatchObject([{ late: 3, unused: 7 }]);
    const reported = play(late, [60_000, { type: 'reported' }]);
    expect(currentLease(reported)).toMatchObject({ late: 3, unused: 0 });
    expect(nextReportInMs(reported, 60_000)).toBe(4000);
  });

  it('budgets: closing returns the unspent tokens of the current window only on request', () => {
    const kept = play(spent, [30, { type: 'closed', returnsTokens: false }]);
    expect(currentLease(kept)).toMatchObject({ unspent: 7, unused: 0 });
    const returned = play(spent, [30, { type: 'closed', returnsTokens: true }]);
    expect(currentLease(returned)).toMatchObject({ unspent: 0, unused: 7 });
  });

  it('budgets: a request that was never settled counts as answered after 15 minutes', () => {
    const closed: HoldingEvent = { type: 'closed', returnsTokens: false };
    expect(play(spent, [15 * 60_000, closed]).inFlight).toHaveLength(1);
    const abandoned = play(spent, [20 + 15 * 60_000, closed]);
    expect(abandoned.inFlight).toEqual([]);
    expect(currentLease(abandoned)?.late).toBe(3);
  });

  it('budgets: a report that may have been stored restores only late tokens', () => {
    const late = play(spent, [60_000, settled()], [70_000, { type: 'closed', returnsTokens: true }]);
    const outgoing = reportOf(late, 70_000);
    const sent = play(late, [70_000, { type: 'reported' }]);
    expect(currentLease(sent)).toMatchObject({ answered: 0, late: 0, unused: 0 });
    const restore = (isCertain: boolean) =>
      currentLease(play(sent, [70_000, { type: 'unreported', outgoing, isCertain }]));
    expect(restore(true)).toMatchObject({ late: 3, unused: 7 });
    expect(restore(false)).toMatchObject({ late: 3, unused: 0 });
  });

  it('budgets: an old window is kept while a request of it is in flight', () => {
    const next = play(spent, [70_000, answer({ windowNumber: 3 })]);
    expect(next.leases.map(({ windowNumber }) => windowNumber)).toEqual([1, 3]);
    const done = play(next, [70_010, settled()], [70_020, answer({ windowNumber: 3, granted: 0 })]);
    expect(done.leases.map(({ windowNumber }) => windowNumber)).toEqual([3]);
  });

  it('budgets: the provider limits unspent tokens; an unexpected value is reported at once', () => {
    const learn = (remaining: number): HoldingEvent => ({ type: 'learned', news: { limit: 100, remaining } });
    const expected = play(spent, [30, settled()], [30, learn(97)]);
    expect(expected.isUrgent).toBe(false);
    expect(nextReportInMs(expected, 30)).toBe(990);
    const lower = play(spent, [30, settled()], [30, learn(2)]);
    expect(currentLease(lower)).toMatchObject({ unspent: 2, unused: 5 });
    expect(nextReportInMs(lower, 30)).toBe(0);
    expect(lower.observation).toMatchObject({ windowNumber: 1, used: 98, beyond: 98 });
  });

  it('budgets: a shortage is known only while the last answer is cached', () => {
    expect(isShortOf(granted, 101, 20)).toBe(true);
    expect(isShortOf(granted, 100, 20)).toBe(false);
    expect(isShortOf(granted, 101, 5000)).toBe(false);
    expect(isShortOf(play(granted, [20, { type: 'forgotten' }]), 101, 20)).toBe(false);
  });

  it('budgets: a holding is idle one second after its last request', () => {
    const done = play(spent, [30, settled()]);
    expect(isIdle(spent, 5000)).toBe(false);
    expect(isIdle(done, 1019)).toBe(false);
    expect(isIdle(done, 1020)).toBe(true);
    expect(isIdle(play(done, [1020, { type: 'demanded', weight: 1 }]), 1020)).toBe(false);
  });
});
