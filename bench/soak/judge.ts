import { fixed, median, sum, whole } from '../tools/text.ts';
import type { Plan } from './plan.ts';
import { type ProcessReport, poolSize, processCount } from './processes.ts';
import type { Steady } from './run.ts';
import { type Sample, steadyOf } from './sample.ts';
import { isRising, type Trend, trendOf } from './trend.ts';

export interface Judgement {
  what: string;
  bound: string;
  found: string;
  /** `unknown`: the run was too short. */
  verdict: 'met' | 'missed' | 'unknown';
}

/** Retries and second pages make the rate differ from the plan. */
const minPartOfPlan = 0.97;
/** A lower lag is never reported as growth. */
const smallLagMs = 500;
const bounds = { heapMbPerHour: 4, rssMbPerHour: 16, sizePercentPerHour: 5 };
/** Growth while the process compiles its code, and while autovacuum finds its rhythm. */
const settling = { mb: 8, sizePercent: 15 };
/** The janitor pauses for a minute between two passes. */
const maxJanitorSeconds = 120;
/** Tables with retention. `rollups` keeps its rows for a day. */
const boundedTables = ['connections', 'sync_jobs', 'signals', 'feed', 'attempts'];

export function judge({ samples, endViolations }: Steady, plan: Plan): Judgement[] {
  const steady = steadyOf(samples, plan);
  const bounded = (what: string, bound: string, found: string, isMet: boolean): Judgement => ({
    what,
    bound,
    found,
    verdict: isMet ? 'met' : 'missed',
  });
  const violations = [...samples.flatMap((sample) => sample.violations), ...endViolations];
  const names = new Set(violations.map(({ invariant }) => invariant));
  const violated = sum(violations.map(({ count }) => count));
  const errors = sum(samples.flatMap(({ processes }) => processes).map(({ log }) => log.errors));
  const part = sum(steady.map((one) => one.syncsPerSecond)) / steady.length / plan.perSecond;
  const lag = lagGrowth(steady);
  const lateSeconds = janitorDelay(steady, plan);
  const sessions = Math.max(...steady.map(({ databaseConnections }) => databaseConnections));
  // Each process has one pool for the engine, one for its janitor, and a heartbeat session.
  const maxSessions = processCount * (2 * poolSize + 1);
  return [
    bounded('Violated invariants', '0', [whole(violated), ...names].join('; '), violated === 0),
    bounded('Errors logged', '0', whole(errors), errors === 0),
    bounded(
      'Completed syncs, of due syncs',
      `≥ ${100 * minPartOfPlan} %`,
      `${fixed(1)(100 * part)} %`,
      part >= minPartOfPlan,
    ),
    bounded(
      'Start lag p99, first to last third',
      'not doubled with a rising trend',
      lag.found,
      !lag.hasGrown,
    ),
    ...judgeMemory(steady, 'heap after garbage collection', bounds.heapMbPerHour, ({ heapMb }) => heapMb),
    ...judgeMemory(steady, 'resident memory', bounds.rssMbPerHour, ({ rssMb }) => rssMb),
    judgeSize(steady),
    bounded(
      'Oldest row, beyond its retention',
      `≤ ${maxJanitorSeconds} s`,
      `${whole(lateSeconds)} s`,
      lateSeconds <= maxJanitorSeconds,
    ),
    bounded('Database connections', `≤ ${maxSessions}`, whole(sessions), sessions <= maxSessions),
  ];
}

export function judgementRows(judgements: Judgement[]): string[][] {
  const words = { met: 'met', missed: 'MISSED', unknown: 'run too short' };
  return judgements.map(({ what, bound, found, verdict }) => [what, bound, found, words[verdict]]);
}

/** One slow minute is no growth, so the medians of thirds are compared. */
function lagGrowth(steady: Sample[]): { found: string; hasGrown: boolean } {
  const third = Math.max(1, Math.floor(steady.length / 3));
  const p99 = (of: Sample[]) => median(of.map(({ lagMs }) => lagMs.p99));
  const [first, last] = [p99(steady.slice(0, third)), p99(steady.slice(-third))];
  const trend = trendOf(steady.map(({ minute, lagMs }) => ({ minute, value: lagMs.p99 })));
  const hasGrown = last > 2 * first && last > smallLagMs && trend !== undefined && isRising(trend);
  return { found: `${whole(first)} → ${whole(last)} ms`, hasGrown };
}

function janitorDelay(steady: Sample[], { retentionMinutes }: Plan): number {
  const late = steady.map(({ oldestSeconds }) => Math.max(oldestSeconds.jobs, oldestSeconds.signals));
  return median(late.slice(-Math.max(1, Math.floor(late.length / 3)))) - retentionMinutes * 60;
}

function judgeMemory(
  steady: Sample[],
  what: string,
  bound: number,
  value: (report: ProcessReport) => number,
): Judgement[] {
  return (steady[0]?.processes ?? []).map((_, i) => {
    const trend = trendOf(
      steady.map(({ minute, processes }) => ({ minute, value: value(processes[i] as ProcessReport) })),
    );
    return {
      what: `Process ${i + 1}, ${what}`,
      bound: `≤ ${bound} MB/hour`,
      found: trend ? `${describe(trend)} MB/hour` : 'too few minutes',
      verdict: judgeTrend(trend, bound, settling.mb),
    };
  });
}

function judgeSize(steady: Sample[]): Judgement {
  const size = ({ tables }: Sample) => sum(boundedTables.map((table) => tables[table]?.mb ?? 0));
  const middle = median(steady.map(size));
  const trend = trendOf(
    steady.map((sample) => ({ minute: sample.minute, value: (100 * size(sample)) / middle })),
  );
  return {
    what: 'Size of tables and indexes',
    bound: `≤ ${bounds.sizePercentPerHour} %/hour`,
    found: trend ? `${describe(trend)} %/hour of ${whole(middle)} MB` : 'too few minutes',
    verdict: judgeTrend(trend, bounds.sizePercentPerHour, settling.sizePercent),
  };
}

/** Missed: significant growth above the bound and above settling. Unknown: the interval includes values above the bound. */
function judgeTrend(trend: Trend | undefined, bound: number, settled: number): Judgement['verdict'] {
  if (!trend) return 'unknown';
  const { perHour, margin, gained } = trend;
  if (perHour > bound && isRising(trend) && gained > settled) return 'missed';
  return perHour + margin <= bound ? 'met' : 'unknown';
}

const describe = ({ perHour, margin }: Trend) => `${fixed(1)(perHour)} ± ${fixed(1)(margin)}`;
