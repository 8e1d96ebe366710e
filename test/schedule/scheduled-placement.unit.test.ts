import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aheadLimits } from '../../src/schedule/ahead.ts';
import {
  correctBySchedule,
  placeBySchedule,
  previewSchedule,
  rescheduleBySchedule,
  scheduleAheadLimits,
} from '../../src/schedule/scheduled-placement.ts';
import { timetableOf } from '../../src/schedule/timetable.ts';

const bounds = {
  defaultIntervalSeconds: 900,
  maxOverriddenIntervalSeconds: 86_400,
  jitterPctMin: 0,
  jitterPctMax: 0.2,
  tickIntervalSeconds: 60,
};
const limits = aheadLimits(bounds, [{ baseSeconds: 5, maxSeconds: 900, jitterFactor: 0.1 }]);
const utc = (text: string) => Date.parse(`2026-${text}Z`);
const text = (ms: number | undefined) =>
  ms === undefined ? undefined : new Date(ms).toISOString().slice(5, 16);
const berlin = timetableOf({ cron: '0 6 * * 1-5', timeZone: 'Europe/Berlin' });

const anyCron = fc.oneof(
  fc.constantFrom(
    '* * * * *',
    '*/7 * * * *',
    '30 2 * * *',
    '0 0 1 * *',
    '0 6 * * 1-5',
    '0 0 29 2 *',
    '15 1-3 * * 0',
  ),
  fc
    .tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 6 }))
    .map(([m, h, d]) => `${m} ${h} * * ${d}`),
);
const anyZone = fc.constantFrom(
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'UTC',
);
const anyNow = fc.oneof(
  fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) }),
  fc.integer({ min: utc('03-29T00:00'), max: utc('03-29T03:00') }),
  fc.integer({ min: utc('10-25T00:00'), max: utc('10-25T03:00') }),
);
const anyElapsed = fc.integer({ min: 0, max: 10 * 366 * 86_400_000 });
const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const anyCase = fc
  .tuple(anyCron, anyZone, anyNow, anyElapsed, anyRandom)
  .map(([cron, timeZone, nowMs, elapsed, random]) => ({
    timetable: timetableOf({ cron, timeZone }),
    lastEndedMs: nowMs - elapsed,
    nextRunAtMs: undefined,
    bounds,
    random,
    nowMs,
  }));

describe('SCH-12: placement by a schedule', () => {
  it('SCH-12: any outage places one job at the latest missed occurrence, and the next run is after now', () => {
    fc.assert(
      fc.property(anyCase, (input) => {
        const { timetable, lastEndedMs, nowMs } = input;
        const { slotMs, scheduledAtMs, nextRunAtMs, baseSeconds } = placeBySchedule(input);
        expect(nextRunAtMs).toBeGreaterThan(nowMs);
        expect(slotMs).toBeGreaterThan(lastEndedMs);
        expect(scheduledAtMs).toBeGreaterThanOrEqual(slotMs);
        expect(scheduledAtMs).toBeLessThan(nextRunAtMs);
        expect(nextRunAtMs - slotMs).toBe(baseSeconds * 1000);
        expect(baseSeconds).toBeGreaterThanOrEqual(60);
        // Nothing is missed between the slot and now.
        expect(timetable.around(slotMs)).toMatchObject({ latestMs: slotMs, nextMs: nextRunAtMs });
        // A run that ends at once is not followed by another one for an occurrence up to now.
        const again = placeBySchedule({ ...input, lastEndedMs: Math.max(nowMs, scheduledAtMs), nextRunAtMs });
        expect(again.slotMs).toBe(nextRunAtMs);
      }),
      { numRuns: 300 },
    );
  });

  it('SCH-12: slots never move back when time passes', () => {
    fc.assert(
      fc.property(anyCase, fc.integer({ min: 0, max: 40 * 86_400_000 }), (input, later) => {
        const first = placeBySchedule(input);
        const second = placeBySchedule({ ...input, nowMs: input.nowMs + later });
        expect(second.slotMs).toBeGreaterThanOrEqual(first.slotMs);
        expect(second.nextRunAtMs).toBeGreaterThanOrEqual(first.nextRunAtMs);
      }),
      { numRuns: 200 },
    );
  });

  it('SCH-12: an end in the future (wrong clock) does not delay the next occurrence', () => {
    const { slotMs } = placeBySchedule({
      timetable: berlin,
      lastEndedMs: Date.UTC(2999, 0),
      nextRunAtMs: undefined,
      bounds,
      random: 0,
      nowMs: utc('11-17T12:00'),
    });
    expect(text(slotMs)).toBe('11-18T05:00');
  });

  it('SCH-12: with a jitter share of 1, jitter stays below the distance', () => {
    const { jitterSeconds } = placeBySchedule({
      timetable: timetableOf({ cron: '* * * * *', timeZone: 'UTC' }),
      lastEndedMs: utc('11-17T11:59'),
      nextRunAtMs: undefined,
      bounds: { ...bounds, jitterPctMin: 1, jitterPctMax: 1 },
      random: 0.99,
      nowMs: utc('11-17T12:00'),
    });
    expect(jitterSeconds).toBe(59);
  });
});

describe('SCH-12: a changed schedule', () => {
  const input = {
    timetable: berlin,
    lastEndedMs: utc('11-17T04:00'),
    bounds,
    random: 0,
    nowMs: utc('11-17T12:00'),
  };

  it.each([
    ['none', '11-18T05:00', undefined],
    ['placed', '11-18T05:00', '11-18T05:00'],
    ['under way', '11-18T05:00', undefined],
  ] as const)('SCH-12: with a job %s, the next run is %s', (pending, nextRun, job) => {
    const changed = rescheduleBySchedule(pending, input);
    expect([text(changed.nextRunAtMs), text(changed.job?.scheduledAtMs)]).toEqual([nextRun, job]);
  });

  it('SCH-6: before the first run, a connection stays due', () => {
    expect(rescheduleBySchedule('none', { ...input, lastEndedMs: undefined }).nextRunAtMs).toBeUndefined();
  });
});

describe('SCH-12: times too far ahead', () => {
  const pendings = fc.constantFrom('none', 'placed', 'under way');

  it('SCH-12: what a scheduler or a repair writes is never too far ahead', () => {
    fc.assert(
      fc.property(anyCase, pendings, (input, pending) => {
        const most = scheduleAheadLimits(input.timetable, limits, input.nowMs);
        for (const { nextRunAtMs, scheduledAtMs } of [
          placeBySchedule(input),
          correctBySchedule(pending, input),
        ]) {
          expect(nextRunAtMs).toBeLessThanOrEqual(most.nextRunAtMs);
          expect(scheduledAtMs).toBeLessThanOrEqual(most.scheduledAtMs);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('SCH-12: a repair makes a connection with missed occurrences due', () => {
    const input = {
      timetable: berlin,
      lastEndedMs: utc('11-16T12:00'),
      bounds,
      random: 0,
      nowMs: utc('11-17T12:00'),
    };
    expect(text(correctBySchedule('none', input).nextRunAtMs)).toBe('11-17T05:00');
  });
});

describe('schedule preview', () => {
  const input = {
    timetable: berlin,
    lastEndedMs: utc('11-19T05:01'),
    nextRunAtMs: utc('11-20T05:00'),
    pendingAtMs: undefined,
    bounds,
    tickIntervalSeconds: 60,
    nowMs: utc('11-19T12:00'),
  };
  const starts = (changes: object) =>
    previewSchedule({ ...input, ...changes }, 3).map((run) => text(run.earliestMs));

  it('preview: shows the occurrences with their jitter', () => {
    expect(previewSchedule(input, 2)).toEqual([
      { earliestMs: utc('11-20T05:00'), latestMs: utc('11-20T05:03') },
      { earliestMs: utc('11-23T05:00'), latestMs: utc('11-23T05:03') },
    ]);
  });

  it('preview: starts with the pending job, or with a first run now', () => {
    expect(starts({ pendingAtMs: utc('11-20T05:02') })).toEqual([
      '11-20T05:02',
      '11-23T05:00',
      '11-24T05:00',
    ]);
    expect(starts({ lastEndedMs: undefined, nextRunAtMs: undefined })).toEqual([
      '11-19T12:00',
      '11-20T05:00',
      '11-23T05:00',
    ]);
  });
});
