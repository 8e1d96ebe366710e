import { describe, expect, it } from 'vitest';
import { isMissed, judge } from '../../../bench/soak/judge.ts';
import type { Plan } from '../../../bench/soak/plan.ts';
import type { Sample } from '../../../bench/soak/sample.ts';
import { samplesOf } from './samples.ts';

const plan: Plan = {
  connections: 66_000,
  intervalSeconds: 60,
  perSecond: 1000,
  load: 0.8,
  retentionMinutes: 30,
  warmUpMinutes: 32,
};

/** What is missed, or not known, of a run of so many minutes that changes as it is told to. */
function judged(minutes: number, change: (sample: Sample) => Partial<Sample> = () => ({})) {
  const samples = samplesOf(minutes).map((sample) => ({ ...sample, ...change(sample) }));
  const judgements = judge({ samples, endViolations: [], callsWithoutOutcome: 0 }, plan);
  const named = (verdict: string) =>
    judgements.filter((one) => one.verdict === verdict).map(({ what }) => what);
  return { missed: named('missed'), unknown: named('unknown'), failed: judgements.some(isMissed) };
}

const hours = 8 * 60;

describe('the verdict on a soak', () => {
  it('is met by a load that is level for hours', () => {
    expect(judged(hours)).toEqual({ missed: [], unknown: [], failed: false });
  });

  it('says of a short run that it cannot rule growth out, and does not fail for that', () => {
    const { missed, unknown, failed } = judged(38);
    expect({ missed, failed }).toEqual({ missed: [], failed: false });
    expect(unknown).toContain('Process 1, heap after garbage was collected');
  });

  it.each<[string, (sample: Sample) => Partial<Sample>, string]>([
    [
      'memory that leaks',
      ({ processes, minute }) => ({
        processes: processes.map((one) => ({ ...one, heapMb: one.heapMb + minute / 10 })),
      }),
      'Process 1, heap after garbage was collected',
    ],
    [
      'tables that grow',
      ({ tables, minute }) => ({
        tables: { ...tables, signals: { mb: 300 + minute, indexMb: 1, deadRows: 0 } },
      }),
      'Tables and indexes, once as much is deleted as is added',
    ],
    [
      'lag that grows',
      ({ minute }) => ({ lagMs: { p50: 10, p99: 50 * minute, most: 60 * minute } }),
      'Start lag p99 of the last third of the minutes, to the first',
    ],
    ['syncs that are not done', () => ({ syncsPerSecond: 960 }), 'Syncs, of those that came due'],
    [
      'a janitor that falls behind',
      ({ minute }) => ({ keptSeconds: { jobs: 1800, signals: 1800 + 2 * minute } }),
      'The oldest that is still there, past its time',
    ],
    [
      'connections to the database that are not given back',
      ({ minute }) => ({ databaseConnections: minute }),
      'Database connections, at most',
    ],
    [
      'a violation, also while warming up',
      ({ minute }) => ({ violations: minute === 2 ? [{ invariant: 'broken', count: 1, examples: [] }] : [] }),
      'Violations of what is promised',
    ],
    [
      'an error in a log',
      ({ minute, processes }) => ({
        processes: processes.map((one) => ({ ...one, log: { ...one.log, errors: minute === 2 ? 1 : 0 } })),
      }),
      'Errors logged',
    ],
  ])('is missed by %s', (_, change, what) => {
    const { missed, failed } = judged(hours, change);
    expect(missed).toContain(what);
    expect(failed).toBe(true);
  });

  it('does not take one long minute for growth', () => {
    const long = ({ minute, lagMs }: Sample) =>
      minute === hours ? { lagMs: { ...lagMs, p99: 60_000 } } : {};
    expect(judged(hours, long).missed).toEqual([]);
  });
});
