import { fixed, median, sum, whole } from '../tools/text.ts';
import type { Plan } from './plan.ts';
import { poolSize, processCount } from './processes.ts';
import type { Steady } from './run.ts';
import { type Sample, steadyOf } from './sample.ts';
import { isRising, trendOf } from './trend.ts';

export interface Judgement {
  what: string;
  bound: string;
  found: string;
  /** `unknown`: the run was too short. */
  verdict: 'met' | 'missed' | 'unknown';
}

/** Retries and second pages make the rate differ from the plan. */
const minPercent = 97;
/** A lower lag is never reported as growth. */
const smallLagMs = 500;
/** The janitor pauses for a minute between two passes; in seconds. */
const maxLate = 120;
/** Each process has one pool for the engine, one for its janitor, and a heartbeat session. */
const maxSessions = processCount * (2 * poolSize + 1);
/** Maximum growth per hour. `settling` is growth that code compilation, buffers and autovacuum explain. */
const growth = {
  heap: { unit: 'MB/hour', max: 4, settling: 8 },
  resident: { unit: 'MB/hour', max: 16, settling: 8 },
  size: { unit: '%/hour', max: 5, settling: 15 },
};
/** Tables with retention. `rollups` keeps its rows for a day. */
const boundedTables = ['connections', 'sync_jobs', 'signals', 'feed', 'attempts'];

export function judge({ samples, endViolations }: Steady, plan: Plan): Judgement[] {
  const steady = steadyOf(samples, plan);
  const violations = [...samples.flatMap((sample) => sample.violations), ...endViolations];
  const names = new Set(violations.map(({ invariant }) => invariant));
  const violated = sum(violations.map(({ count }) => count));
  const errors = sum(samples.flatMap(({ processes }) => processes).map(({ log }) => log.errors));
  const percent = (sum(steady.map((one) => one.syncsPerSecond)) / steady.length / plan.perSecond) * 100;
  const lag = lagGrowth(steady);
  const late = oldestSeconds(steady) - plan.retentionMinutes * 60;
  const sessions = Math.max(...steady.map(({ databaseConnections }) => databaseConnections));
  const size = ({ tables }: Sample) => sum(boundedTables.map((table) => tables[table]?.mb ?? 0));
  const medianSize = median(steady.map(size));
  const sizePercent = (one: Sample) => (100 * size(one)) / medianSize;
  const perProcess = (what: string, kind: 'heap' | 'resident', key: 'heapMb' | 'rssMb') =>
    Array.from({ length: processCount }, (_, i) => {
      const value = ({ processes }: Sample) => processes[i]?.[key] ?? 0;
      return judgeGrowth(`Process ${i + 1}, ${what}`, growth[kind], steady, value);
    });
  const sizeNote = ` of ${whole(medianSize)} MB`;
  return [
    check('Violated invariants', '0', [whole(violated), ...names].join('; '), violated === 0),
    check('Errors logged', '0', whole(errors), errors === 0),
    check('Completed of due syncs', `≥ ${minPercent} %`, `${fixed(1)(percent)} %`, percent >= minPercent),
    check('Start lag p99, first to last third', 'not doubled and rising', lag.found, !lag.hasGrown),
    ...perProcess('heap after garbage collection', 'heap', 'heapMb'),
    ...perProcess('resident memory', 'resident', 'rssMb'),
    judgeGrowth('Size of tables and indexes', growth.size, steady, sizePercent, sizeNote),
    check('Oldest row beyond its retention', `≤ ${maxLate} s`, `${whole(late)} s`, late <= maxLate),
    check('Database connections', `≤ ${maxSessions}`, whole(sessions), sessions <= maxSessions),
  ];
}

export function judgementRows(judgements: Judgement[]): string[][] {
  const words = { met: 'met', missed: 'MISSED', unknown: 'run too short' };
  return judgements.map(({ what, bound, found, verdict }) => [what, bound, found, words[verdict]]);
}

function check(what: string, bound: string, found: string, isMet: boolean): Judgement {
  return { what, bound, found, verdict: isMet ? 'met' : 'missed' };
}

const thirdOf = (steady: Sample[]) => Math.max(1, Math.floor(steady.length / 3));

/** One slow minute is no growth, so the medians of thirds are compared. */
function lagGrowth(steady: Sample[]): { found: string; hasGrown: boolean } {
  const p99 = (of: Sample[]) => median(of.map(({ lagMs }) => lagMs.p99));
  const [first, last] = [p99(steady.slice(0, thirdOf(steady))), p99(steady.slice(-thirdOf(steady)))];
  const trend = trendOf(steady.map(({ minute, lagMs }) => ({ minute, value: lagMs.p99 })));
  const hasGrown = last > 2 * first && last > smallLagMs && trend !== undefined && isRising(trend);
  return { found: `${whole(first)} → ${whole(last)} ms`, hasGrown };
}

function oldestSeconds(steady: Sample[]): number {
  const last = steady.slice(-thirdOf(steady));
  return median(last.map(({ oldestSeconds: { jobs, signals } }) => Math.max(jobs, signals)));
}

/** Missed: significant growth above the bound and above settling. Unknown: the interval includes values above the bound. */
function judgeGrowth(
  what: string,
  { unit, max, settling }: (typeof growth)['heap'],
  steady: Sample[],
  value: (sample: Sample) => number,
  note = '',
): Judgement {
  const bound = `≤ ${max} ${unit}`;
  const trend = trendOf(steady.map((sample) => ({ minute: sample.minute, value: value(sample) })));
  if (!trend) return { what, bound, found: 'too few minutes', verdict: 'unknown' };
  const { perHour, margin, gained } = trend;
  const found = `${fixed(1)(perHour)} ± ${fixed(1)(margin)} ${unit}${note}`;
  if (perHour > max && isRising(trend) && gained > settling) return { what, bound, found, verdict: 'missed' };
  return { what, bound, found, verdict: perHour + margin <= max ? 'met' : 'unknown' };
}
