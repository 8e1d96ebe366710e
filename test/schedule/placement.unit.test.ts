import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { place } from '../../src/schedule/placement.ts';
import { nextSlot } from '../../src/schedule/slot.ts';

const at = (time: string) => Date.parse(`2025-01-01T${time}Z`);
const hour = 3600 * 1000;

/** Adds intervals until the next one would be in the future. */
function naiveSlot(lastMs: number, baseSeconds: number, nowMs: number): number {
  let slot = lastMs + baseSeconds * 1000;
  while (slot + baseSeconds * 1000 <= nowMs) slot += baseSeconds * 1000;
  return slot;
}

const anyBase = fc.integer({ min: 60, max: 604_800 });
const anyLast = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) });

describe('SCH-5: the slot', () => {
  it.each([
    ['12:00:00', '12:15:00', '12:15:00', '12:30:00'],
    ['10:00:00', '10:20:00', '10:15:00', '10:30:00'],
    ['10:00:00', '10:14:00', '10:15:00', '10:30:00'],
    ['10:00:00', '10:50:00', '10:45:00', '11:00:00'],
  ])('SCH-5: with last %s and now %s, the slot is %s and the next run at %s', (last, now, slot, next) => {
    const placed = place({
      lastEndedMs: at(last),
      activatedMs: undefined,
      createdMs: 0,
      baseSeconds: 900,
      jitterSeconds: 45,
      nowMs: at(now),
    });
    expect(placed).toEqual({ slotMs: at(slot), scheduledAtMs: at(slot) + 45_000, nextRunAtMs: at(next) });
  });

  it('SCH-5: the closed form equals the naive loop', () => {
    fc.assert(
      fc.property(
        anyLast,
        anyBase,
        fc.integer({ min: -60_000, max: 90 * 24 * hour }),
        (last, base, elapsed) => {
          expect(nextSlot(last, base, last + elapsed)).toBe(naiveSlot(last, base, last + elapsed));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('SCH-5: next_run_at is after now, for any outage and interval', () => {
    const decades = 30 * 365 * 24 * hour;
    fc.assert(
      fc.property(
        anyLast,
        anyBase,
        fc.integer({ min: 0, max: decades }),
        (lastEndedMs, baseSeconds, elapsed) => {
          const nowMs = lastEndedMs + elapsed;
          const { slotMs, nextRunAtMs } = place({
            lastEndedMs,
            activatedMs: undefined,
            createdMs: 0,
            baseSeconds,
            jitterSeconds: 0,
            nowMs,
          });
          expect(nextRunAtMs).toBeGreaterThan(nowMs);
          expect((slotMs - lastEndedMs) % (baseSeconds * 1000)).toBe(0);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('SCH-5: after a ten-year outage the slot is within the last interval', () => {
    const lastEndedMs = at('00:00:00');
    const nowMs = lastEndedMs + 10 * 365 * 24 * hour + 123_456;
    const { slotMs } = place({
      lastEndedMs,
      activatedMs: undefined,
      createdMs: 0,
      baseSeconds: 900,
      jitterSeconds: 0,
      nowMs,
    });
    expect(nowMs - slotMs).toBeLessThan(900_000);
  });

  it('SCH-5: runs that end on their slot keep the grid over ten simulated years', () => {
    const start = at('00:00:00');
    const end = start + 10 * 365 * 24 * hour;
    let last = start;
    let runs = 0;
    for (let now = start; now < end; ) {
      const { slotMs, nextRunAtMs } = place({
        lastEndedMs: last,
        activatedMs: undefined,
        createdMs: 0,
        baseSeconds: 900,
        jitterSeconds: 0,
        nowMs: now,
      });
      if ((slotMs - start) % 900_000 !== 0) expect.fail(`run ${runs} left the grid`);
      last = slotMs;
      runs++;
      // A tick up to a minute early, at every phase.
      now = nextRunAtMs - (runs % 60) * 1000;
    }
    expect(runs).toBe((end - start) / 900_000);
  });

  it('SCH-5: a last end slightly in the future is the base of the next slot', () => {
    const placed = place({
      lastEndedMs: at('12:00:05'),
      activatedMs: undefined,
      createdMs: 0,
      baseSeconds: 900,
      jitterSeconds: 0,
      nowMs: at('12:00:00'),
    });
    expect(placed.slotMs).toBe(at('12:15:05'));
  });

  it('SCH-5: a last end far in the future does not delay the next slot', () => {
    const placed = place({
      lastEndedMs: Date.UTC(2999, 0),
      activatedMs: undefined,
      createdMs: 0,
      baseSeconds: 900,
      jitterSeconds: 0,
      nowMs: at('12:00:00'),
    });
    expect(placed.slotMs).toBe(at('12:15:00'));
  });
});

describe('SCH-6: bootstrap', () => {
  it('SCH-6: the first run is due now, the next an interval and jitter after activation', () => {
    const placed = place({
      lastEndedMs: undefined,
      activatedMs: at('12:00:00'),
      createdMs: 0,
      baseSeconds: 900,
      jitterSeconds: 45,
      nowMs: at('12:00:30'),
    });
    expect(placed).toEqual({
      slotMs: at('12:00:30'),
      scheduledAtMs: at('12:00:30'),
      nextRunAtMs: at('12:15:45'),
    });
  });

  it('SCH-6: with an old activation time next_run_at is in the past', () => {
    const placed = place({
      lastEndedMs: undefined,
      activatedMs: at('08:00:00'),
      createdMs: 0,
      baseSeconds: 900,
      jitterSeconds: 0,
      nowMs: at('12:00:00'),
    });
    expect(placed.nextRunAtMs).toBe(at('08:15:00'));
  });

  it.each([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 9e15])(
    'SCH-6: an activation at %d counts as now',
    (activatedMs) => {
      const placed = place({
        lastEndedMs: undefined,
        activatedMs,
        createdMs: Number.POSITIVE_INFINITY,
        baseSeconds: 900,
        jitterSeconds: 0,
        nowMs: at('12:00:00'),
      });
      expect(placed.nextRunAtMs).toBe(at('12:15:00'));
    },
  );

  it.each([
    ['12:00:01', '11:00:00', '11:15:00'],
    ['12:00:00', '11:00:00', '12:15:00'],
    ['13:00:00', '14:00:00', '12:15:00'],
    [undefined, '14:00:00', '12:15:00'],
  ])(
    'SCH-6: at 12:00, activated at %s and created at %s, the next run is at %s',
    (activated, created, next) => {
      const placed = place({
        lastEndedMs: undefined,
        activatedMs: activated === undefined ? undefined : at(activated),
        createdMs: at(created),
        baseSeconds: 900,
        jitterSeconds: 0,
        nowMs: at('12:00:00'),
      });
      expect(placed).toEqual({
        slotMs: at('12:00:00'),
        scheduledAtMs: at('12:00:00'),
        nextRunAtMs: at(next),
      });
    },
  );

  it('SCH-6: next_run_at is at most an interval and jitter ahead, for any activation time', () => {
    const anyTime = fc.oneof(fc.double({ noNaN: true }), fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }));
    fc.assert(
      fc.property(
        fc.option(anyTime, { nil: undefined }),
        anyTime,
        anyBase,
        fc.integer({ min: 0, max: 604_800 }),
        anyLast,
        (activatedMs, createdMs, baseSeconds, jitterSeconds, nowMs) => {
          const input = { lastEndedMs: undefined, activatedMs, createdMs, baseSeconds, jitterSeconds, nowMs };
          const latestMs = nowMs + (baseSeconds + jitterSeconds) * 1000;
          expect(place(input).nextRunAtMs).toBeLessThanOrEqual(latestMs);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
