import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aheadLimits, correctedTimes, isNextRunAhead, jobAhead } from '../../src/schedule/ahead.ts';
import { backoffSeconds, pageSeconds, parkedSeconds } from '../../src/schedule/backoff.ts';
import { jitterRange, sampleJitter } from '../../src/schedule/jitter.ts';
import { place } from '../../src/schedule/placement.ts';
import { reschedule } from '../../src/schedule/reschedule.ts';

const nowMs = Date.parse('2025-01-01T12:00:00Z');
const policy = { baseSeconds: 5, maxSeconds: 900, jitterFactor: 0.1 };
const bounds = {
  defaultIntervalSeconds: 900,
  maxOverriddenIntervalSeconds: 604_800,
  jitterPctMin: 0,
  jitterPctMax: 0.2,
  tickIntervalSeconds: 60,
};
const limits = aheadLimits(bounds, [policy]);
const anyBase = fc.integer({ min: 60, max: 604_800 });
const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
/** The end of the last run: any time until now, or never. */
const anyLast = fc.option(fc.integer({ min: 0, max: nowMs }), { nil: undefined });

describe('DB-6: times too far ahead', () => {
  it('DB-6: no run placed by a tick or a changed interval is too far ahead', () => {
    fc.assert(
      fc.property(anyLast, anyBase, anyRandom, (lastEndedMs, baseSeconds, random) => {
        const jitterSeconds = sampleJitter(jitterRange(baseSeconds, bounds), random);
        const input = { lastEndedMs, baseSeconds, jitterSeconds, nowMs };
        const placed = place({ ...input, activatedMs: undefined, createdMs: nowMs });
        const changed = reschedule({ ...input, pending: 'placed' });
        for (const atMs of [placed.nextRunAtMs, changed.nextRunAtMs ?? 0])
          expect(isNextRunAhead(atMs, baseSeconds, limits, nowMs)).toBe(false);
        for (const scheduledAtMs of [placed.scheduledAtMs, changed.job?.scheduledAtMs ?? 0]) {
          const job = { type: 'incremental', scheduledAtMs, retryAfterMs: undefined };
          expect(jobAhead(job, baseSeconds, limits, nowMs).scheduledAt).toBe(false);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('DB-6: no backoff, page pause or parked budget is too far ahead, for any retry-after', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2000 }), fc.double(), anyRandom, (attempts, hint, random) => {
        const pauses = [
          backoffSeconds(policy, attempts, hint, random),
          pageSeconds(policy, hint, random),
          parkedSeconds(hint),
        ];
        for (const pause of pauses) {
          const untilMs = nowMs + pause * 1000;
          const job = { type: 'incremental', scheduledAtMs: untilMs, retryAfterMs: untilMs };
          expect(jobAhead(job, 60, limits, nowMs)).toEqual({ scheduledAt: false, retryAfter: false });
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    [
      'a run placed two intervals ahead',
      'incremental',
      1860,
      undefined,
      { scheduledAt: true, retryAfter: false },
    ],
    [
      'a run placed one interval ahead',
      'incremental',
      960,
      undefined,
      { scheduledAt: false, retryAfter: false },
    ],
    [
      'a full job of another writer, tonight',
      'full',
      36_000,
      undefined,
      { scheduledAt: false, retryAfter: false },
    ],
    ['a full job in a month', 'full', 30 * 86_400, undefined, { scheduledAt: true, retryAfter: false }],
    ['a retry in a week', 'incremental', 0, 7 * 86_400, { scheduledAt: false, retryAfter: false }],
    ['a retry in a month', 'incremental', 0, 30 * 86_400, { scheduledAt: false, retryAfter: true }],
  ])(
    'DB-6: only a time beyond its limit is too far ahead: %s',
    (_name, type, scheduledInSeconds, retryInSeconds, expected) => {
      const scheduledAtMs = nowMs + scheduledInSeconds * 1000;
      const retryAfterMs = retryInSeconds === undefined ? undefined : nowMs + retryInSeconds * 1000;
      expect(jobAhead({ type, scheduledAtMs, retryAfterMs }, 900, limits, nowMs)).toEqual(expected);
    },
  );

  it('DB-6: a corrected time is not too far ahead', () => {
    const pendings = fc.constantFrom('none' as const, 'placed' as const, 'under way' as const);
    // A wrong clock may also have written the end of the last run.
    const anyEnd = fc.option(fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }), { nil: undefined });
    fc.assert(
      fc.property(anyEnd, anyBase, anyRandom, pendings, (lastEndedMs, baseSeconds, random, pending) => {
        const jitterSeconds = sampleJitter(jitterRange(baseSeconds, bounds), random);
        const input = { lastEndedMs, baseSeconds, jitterSeconds, nowMs, pending };
        const { nextRunAtMs, scheduledAtMs } = correctedTimes({ ...input, isNextRunAhead: true });
        expect(isNextRunAhead(nextRunAtMs ?? Number.NaN, baseSeconds, limits, nowMs)).toBe(false);
        expect(nextRunAtMs).toBeDefined();
        expect(scheduledAtMs === undefined).toBe(pending !== 'placed');
        const job = { type: 'incremental', scheduledAtMs: scheduledAtMs ?? 0, retryAfterMs: undefined };
        expect(jobAhead(job, baseSeconds, limits, nowMs).scheduledAt).toBe(false);
        expect(correctedTimes({ ...input, isNextRunAhead: false }).nextRunAtMs).toBeUndefined();
      }),
      { numRuns: 2000 },
    );
  });
});
