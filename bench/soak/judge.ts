import { fixed, median, whole } from '../tools/report.ts';
import type { Plan } from './plan.ts';
import { type Sample, steadyOf } from './sample.ts';
import { poolSize } from './start-order.ts';
import type { Steady } from './steady.ts';
import { isRising, type Trend, trendOf } from './trend.ts';
import type { ProcessReport } from './worker.ts';

/** What was asked of the run, and what it came to. */
export interface Judgement {
  what: string;
  bound: string;
  found: string;
  /** `unknown`: the run was too short to tell. */
  verdict: 'met' | 'missed' | 'unknown';
}

/** Runs of connections that fail or have a second page come a little more or less often than planned. */
const leastOfPlan = 0.97;
/** Less than this is no lag that anybody minds. */
const smallLagMs = 500;
const bounds = { heapMbPerHour: 4, rssMbPerHour: 16, sizePerHour: 0.05 };
/** What a process may gain while its code is still being compiled and its buffers find their size. */
const settlingMb = 8;
/** The same for tables: autovacuum comes by once a minute, and what it has not freed yet is written behind. */
const settlingSize = 0.15;
/** The janitor rests for a minute, and takes a while for what came meanwhile. */
const janitorSeconds = 120;
/** Kept level by the janitor. The counts per minute are not: they are made hours after a day. */
const levelTables = ['connections', 'sync_jobs', 'signals', 'feed', 'attempts'];

export function judge({ samples, endViolations }: Steady, plan: Plan): Judgement[] {
  const steady = steadyOf(samples, plan);
  return [
    judgeViolations(samples, endViolations),
    judgeErrors(samples),
    judgeRate(steady, plan),
    judgeLag(steady),
    ...judgeMemory(steady, 'heap after garbage was collected', bounds.heapMbPerHour, ({ heapMb }) => heapMb),
    ...judgeMemory(steady, 'resident memory', bounds.rssMbPerHour, ({ rssMb }) => rssMb),
    judgeSize(steady),
    judgeJanitor(steady, plan),
    judgeConnections(steady),
  ];
}

export const isMissed = ({ verdict }: Judgement) => verdict === 'missed';

const met = (isMet: boolean) => (isMet ? 'met' : 'missed');

function judgeViolations(samples: Sample[], atTheEnd: Steady['endViolations']): Judgement {
  const found = [...samples.flatMap(({ violations }) => violations), ...atTheEnd];
  const count = found.reduce((sum, one) => sum + one.count, 0);
  const names = [...new Set(found.map(({ invariant }) => invariant))];
  return {
    what: 'Violations of what is promised',
    bound: '0',
    found: [whole(count), ...names].join('; '),
    verdict: met(count === 0),
  };
}

function judgeErrors(samples: Sample[]): Judgement {
  const errors = samples.flatMap(({ processes }) => processes).reduce((sum, { log }) => sum + log.errors, 0);
  return { what: 'Errors logged', bound: '0', found: whole(errors), verdict: met(errors === 0) };
}

function judgeRate(steady: Sample[], { perSecond }: Plan): Judgement {
  const mean = steady.reduce((sum, one) => sum + one.syncsPerSecond, 0) / steady.length;
  return {
    what: 'Syncs, of those that came due',
    bound: `≥ ${100 * leastOfPlan} %`,
    found: `${fixed(1)((100 * mean) / perSecond)} %`,
    verdict: met(mean >= leastOfPlan * perSecond),
  };
}

/** Bounded means that it ends about where it began. One long minute is no growth. */
function judgeLag(steady: Sample[]): Judgement {
  const third = Math.max(1, Math.floor(steady.length / 3));
  const p99 = (of: Sample[]) => median(of.map(({ lagMs }) => lagMs.p99));
  const [first, last] = [p99(steady.slice(0, third)), p99(steady.slice(-third))];
  const trend = trendOf(steady.map(({ minute, lagMs }) => ({ minute, value: lagMs.p99 })));
  const hasGrown = last > 2 * first && last > smallLagMs && trend !== undefined && isRising(trend);
  return {
    what: 'Start lag p99 of the last third of the minutes, to the first',
    bound: 'not twice as long and rising',
    found: `${whole(first)} → ${whole(last)} ms`,
    verdict: met(!hasGrown),
  };
}

function judgeMemory(
  steady: Sample[],
  what: string,
  bound: number,
  value: (report: ProcessReport) => number,
): Judgement[] {
  const count = steady[0]?.processes.length ?? 0;
  return Array.from({ length: count }, (_, i) => {
    const trend = trendOf(
      steady.map(({ minute, processes }) => ({ minute, value: value(processes[i] as ProcessReport) })),
    );
    return {
      what: `Process ${i + 1}, ${what}`,
      bound: `≤ ${bound} MB/hour`,
      found: trend ? `${inWords(trend)} MB/hour` : 'too few minutes',
      verdict: judgeTrend(trend, bound, settlingMb),
    };
  });
}

function judgeSize(steady: Sample[]): Judgement {
  const size = (sample: Sample) =>
    levelTables.reduce((sum, table) => sum + (sample.tables[table]?.mb ?? 0), 0);
  const middle = median(steady.map(size));
  const trend = trendOf(
    steady.map((sample) => ({ minute: sample.minute, value: (100 * size(sample)) / middle })),
  );
  return {
    what: 'Tables and indexes, once as much is deleted as is added',
    bound: `≤ ${100 * bounds.sizePerHour} %/hour`,
    found: trend ? `${inWords(trend)} %/hour of ${whole(middle)} MB` : 'too few minutes',
    verdict: judgeTrend(trend, 100 * bounds.sizePerHour, 100 * settlingSize),
  };
}

/**
 * Missed where growth above the bound is certain, and more than what settling explains. Where the margin is wider than the
 * bound, or settling alone would be above it, the run was too short to say that there is none.
 */
function judgeTrend(trend: Trend | undefined, bound: number, settling: number): Judgement['verdict'] {
  if (!trend) return 'unknown';
  const { perHour, margin, gained } = trend;
  if (perHour > bound && isRising(trend) && gained > settling) return 'missed';
  return perHour + margin <= bound ? 'met' : 'unknown';
}

const inWords = ({ perHour, margin }: Trend) => `${fixed(1)(perHour)} ± ${fixed(1)(margin)}`;

function judgeJanitor(steady: Sample[], { retentionMinutes }: Plan): Judgement {
  const late = steady.map(
    ({ keptSeconds: { jobs, signals } }) => Math.max(jobs, signals) - retentionMinutes * 60,
  );
  const last = median(late.slice(-Math.max(1, Math.floor(late.length / 3))));
  return {
    what: 'The oldest that is still there, past its time',
    bound: `≤ ${janitorSeconds} s`,
    found: `${whole(last)} s`,
    verdict: met(last <= janitorSeconds),
  };
}

/** Each process has a pool to work with, one for its janitor, and a connection for its heartbeat. */
function judgeConnections(steady: Sample[]): Judgement {
  const processes = steady[0]?.processes.length ?? 0;
  const most = Math.max(...steady.map(({ databaseConnections }) => databaseConnections));
  const bound = processes * (2 * poolSize + 1);
  return {
    what: 'Database connections, at most',
    bound: `≤ ${bound}`,
    found: whole(most),
    verdict: met(most <= bound),
  };
}
