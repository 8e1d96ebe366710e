import { describe, expect, it } from 'vitest';
import { judge } from '../../../bench/soak/judge.ts';
import type { Plan } from '../../../bench/soak/plan.ts';
import type { Sample } from '../../../bench/soak/sample.ts';
import { samplesOf } from './samples.ts';

const plan: Plan = {
  connections: 66_000,
  perSecond: 1000,
  load: 0.8,
  retentionMinutes: 30,
  warmUpMinutes: 32,
};

function judged(minutes: number, change: (sample: Sample) => Partial<Sample> = () => ({})) {
  const samples = samplesOf(minutes).map((sample) => ({ ...sample, ...change(sample) }));
  const judgements = judge({ samples, endViolations: [], lostCalls: 0 }, plan);
  const named = (verdict: string) =>
    judgements.filter((one) => one.verdict === verdict).map(({ what }) => what);
  return { missed: named('missed'), unknown: named('unknown') };
}

const hours = 8 * 60;

describe('soak judge', () => {
  it('soak judge: accepts a constant load of eight hours', () => {
    expect(judged(hours)).toEqual({ missed: [], unknown: [] });
  });

  it('soak judge: reports growth as unknown after a short run', () => {
    const { missed, unknown } = judged(38);
    expect(missed).toEqual([]);
    expect(unknown).toContain('Process 1, heap after garbage collection');
  });

  it.each<[string, (sample: Sample) => Partial<Sample>, string]>([
    [
      'a memory leak',
      ({ processes, minute }) => ({
        processes: processes.map((one) => ({ ...one, heapMb: one.heapMb + minute / 10 })),
      }),
      'Process 1, heap after garbage collection',
    ],
    [
      'growing tables',
      ({ tables, minute }) => ({
        tables: { ...tables, signals: { mb: 300 + minute, deadRows: 0 } },
      }),
      'Size of tables and indexes',
    ],
    [
      'a growing lag',
      ({ minute }) => ({ lagMs: { p50: 10, p99: 50 * minute, max: 60 * minute } }),
      'Start lag p99, first to last third',
    ],
    ['missing syncs', () => ({ syncsPerSecond: 960 }), 'Completed of due syncs'],
    [
      'a slow janitor',
      ({ minute }) => ({ oldestSeconds: { jobs: 1800, signals: 1800 + 2 * minute } }),
      'Oldest row beyond its retention',
    ],
    [
      'leaked database connections',
      ({ minute }) => ({ databaseConnections: minute }),
      'Database connections',
    ],
    [
      'a violation during the warm-up',
      ({ minute }) => ({ violations: minute === 2 ? [{ invariant: 'broken', count: 1, examples: [] }] : [] }),
      'Violated invariants',
    ],
    [
      'a logged error',
      ({ minute, processes }) => ({
        processes: processes.map((one) => ({ ...one, log: { ...one.log, errors: minute === 2 ? 1 : 0 } })),
      }),
      'Errors logged',
    ],
  ])('soak judge: rejects %s', (_, change, what) => {
    expect(judged(hours, change).missed).toContain(what);
  });

  it('soak judge: accepts one slow minute', () => {
    const long = ({ minute, lagMs }: Sample) =>
      minute === hours ? { lagMs: { ...lagMs, p99: 60_000 } } : {};
    expect(judged(hours, long).missed).toEqual([]);
  });
});
