import { describe, expect, it } from 'vitest';
import { previewRuns } from '../../src/schedule/preview.ts';

const at = (time: string) => Date.parse(`2025-01-01T${time}Z`);
const input = {
  lastEndedMs: at('12:00:00'),
  nextRunAtMs: at('12:15:00'),
  pendingAtMs: undefined,
  baseSeconds: 900,
  jitter: { jitterPctMin: 0, jitterPctMax: 0.2 },
  tickIntervalSeconds: 60,
  nowMs: at('12:05:00'),
};
const window = (earliest: string, latest: string) => ({ earliestMs: at(earliest), latestMs: at(latest) });

describe('the preview of a schedule', () => {
  it('SCH-5: shows the slot with its jitter, then windows that widen with each run', () => {
    expect(previewRuns(input, 3)).toEqual([
      window('12:15:00', '12:18:00'),
      window('12:30:00', '12:36:00'),
      window('12:45:00', '12:54:00'),
    ]);
  });

  it('SCH-5: shows a pending job at its scheduled time', () => {
    expect(previewRuns({ ...input, pendingAtMs: at('12:16:40') }, 2)).toEqual([
      window('12:16:40', '12:16:40'),
      window('12:31:40', '12:34:40'),
    ]);
  });

  it('SCH-6: shows a connection that never ran as due now', () => {
    expect(previewRuns({ ...input, lastEndedMs: undefined, nextRunAtMs: undefined }, 1)).toEqual([
      window('12:05:00', '12:05:00'),
    ]);
  });

  it('SCH-5: shows the catch-up run of an overdue connection', () => {
    expect(previewRuns({ ...input, lastEndedMs: at('10:00:00'), nextRunAtMs: at('10:15:00') }, 1)).toEqual([
      window('12:00:00', '12:03:00'),
    ]);
  });
});
