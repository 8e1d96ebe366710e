import { describe, expect, it } from 'vitest';
import { createTickSummary } from '../../src/telemetry/tick-summary.ts';

const tick = (scheduled: number) => ({
  scheduled,
  skippedPending: 0,
  invalidMetadata: 0,
  backlog: 0,
  durationMs: 4.2,
});

describe('tick summary', () => {
  it('log: reports a tick at info at most every 30 s, with the sums since the last report', () => {
    let now = 1000;
    const summary = createTickSummary(() => now);
    expect(summary.tickFinished(tick(3))).toMatchObject({
      level: 'info',
      sentence: 'tick: placed 3 jobs (4 ms)',
    });
    summary.runFinished(10);
    now += 10_000;
    expect(summary.tickFinished(tick(1))).toMatchObject({
      level: 'debug',
      fields: { scheduled: 1 },
      sentence: 'tick: placed 1 job (4 ms)',
    });
    summary.runFinished(1);
    now += 20_000;
    expect(summary.tickFinished(tick(2))).toEqual({
      level: 'info',
      fields: {
        scheduled: 3,
        skipped_pending: 0,
        invalid_metadata: 0,
        backlog: 0,
        duration_ms: 4,
        runs: 2,
        signals: 11,
      },
      sentence: 'tick: placed 3 jobs (4 ms); 2 runs in the last 30 s, 11 new signals',
    });
    now += 30_000;
    expect(summary.tickFinished(tick(0)).sentence).toBe('tick: nothing due (4 ms)');
  });
});
