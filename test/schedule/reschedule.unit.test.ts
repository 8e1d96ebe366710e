import { describe, expect, it } from 'vitest';
import { reschedule } from '../../src/schedule/reschedule.ts';

const at = (time: string) => Date.parse(`2025-01-01T${time}Z`);
const input = {
  pending: 'none' as const,
  lastEndedMs: at('10:00:00'),
  jitterSeconds: 7,
  nowMs: at('10:20:00'),
};

describe('SCH-5: rescheduling after a change of the interval', () => {
  it('SCH-5: a shorter interval that has already passed is due now', () => {
    expect(reschedule({ ...input, baseSeconds: 300 })).toEqual({
      nextRunAtMs: at('10:20:00'),
      job: undefined,
    });
  });

  it('SCH-5: a longer interval delays the next run', () => {
    expect(reschedule({ ...input, baseSeconds: 7200 })).toEqual({
      nextRunAtMs: at('12:00:00'),
      job: undefined,
    });
  });

  it('SCH-5: a pending job is rescheduled too', () => {
    expect(reschedule({ ...input, pending: 'placed', baseSeconds: 3600 })).toEqual({
      nextRunAtMs: at('12:00:00'),
      job: { slotMs: at('11:00:00'), scheduledAtMs: at('11:00:07'), nextRunAtMs: at('12:00:00') },
    });
  });

  it('SCH-5: during a run, the next run is an interval from now', () => {
    expect(reschedule({ ...input, pending: 'under way', baseSeconds: 600 })).toEqual({
      nextRunAtMs: at('10:30:00'),
      job: undefined,
    });
  });

  it('SCH-5: a last end far in the future does not delay the next run', () => {
    const { nextRunAtMs } = reschedule({ ...input, lastEndedMs: Date.UTC(2999, 0), baseSeconds: 600 });
    expect(nextRunAtMs).toBe(at('10:30:00'));
  });

  it('SCH-6: a connection that never ran stays due now', () => {
    expect(reschedule({ ...input, lastEndedMs: undefined, baseSeconds: 600 })).toEqual({
      nextRunAtMs: undefined,
      job: undefined,
    });
  });
});
