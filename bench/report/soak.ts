import { executor } from '../engine/engine.ts';
import { judgementRows } from '../soak/judge.ts';
import { type ProcessReport, processCount } from '../soak/processes.ts';
import type { SoakResult } from '../soak/run.ts';
import { type Sample, steadyOf, undisturbedSeconds } from '../soak/sample.ts';
import { describeEnvironment, type Recorded } from '../tools/results.ts';
import { fixed, median, sum, table, whole } from '../tools/text.ts';
import { fillTemplate, type LineChart } from './section.ts';

export function soakPage(result: Recorded & SoakResult) {
  const { measuredOn, options, plan, capacityPerSecond, judgements, totals, samples } = result;
  const unknown = judgements.filter(({ verdict }) => verdict === 'unknown').map(({ what }) => what);
  const violated = totals.violations.map(
    ({ invariant, count, examples }) =>
      `- Violated ${whole(count)} times: ${invariant} (${examples.join('; ')}).`,
  );
  const texts = {
    connections: whole(plan.connections),
    processes: String(processCount),
    concurrency: String(executor.concurrency),
    retention: String(plan.retentionMinutes),
    capacity: whole(capacityPerSecond),
    'capacity source': options.capacityPerSecond ? 'given' : 'the slower of two measured minutes',
    load: whole(100 * plan.load),
    rate: whole(plan.perSecond),
    minutes: whole(options.minutes),
    syncs: whole(totals.syncs),
    environment: `${describeEnvironment(measuredOn)}, load average ${measuredOn.loadBefore} before the start`,
    checks: table(['Check', 'bound', 'measured', 'verdict'], judgementRows(judgements)),
    problems: [...violated, ...totals.logged.map((line) => `- Logged: ${line}`)].join('\n'),
    'minutes table': minutesTable(result),
    warnings: whole(totals.warnings),
    'lost calls': whole(totals.lostCalls),
    'check seconds': fixed(1)(median(samples.map(({ checksMs }) => checksMs)) / 1000),
    'undisturbed seconds': String(undisturbedSeconds),
    'steady minutes': String(options.minutes - plan.warmUpMinutes),
    growth:
      unknown.length === 0
        ? 'This is long enough to rule out growth above the bounds.'
        : `This is too short for: ${unknown.join('; ')}. A longer run narrows the confidence interval.`,
  };
  return { text: fillTemplate('soak', texts), charts: chartsOf(result) };
}

function minutesTable({ samples, plan }: SoakResult): string {
  const steady = steadyOf(samples, plan);
  const row = (what: string, value: (sample: Sample) => number, format = whole) => {
    const values = steady.map(value);
    return [what, format(median(values)), format(Math.max(...values))];
  };
  const maxOf = (value: (report: ProcessReport) => number) => (sample: Sample) =>
    Math.max(...sample.processes.map(value));
  const deadThousands = ({ tables }: Sample) => sum(Object.values(tables).map((one) => one.deadRows)) / 1000;
  return table(
    [`${steady.length} minutes after a warm-up of ${plan.warmUpMinutes}`, 'median', 'max'],
    [
      row('Syncs per second', ({ syncsPerSecond }) => syncsPerSecond),
      row('Start lag p50, ms', ({ lagMs }) => lagMs.p50),
      row('Start lag p99, ms', ({ lagMs }) => lagMs.p99),
      row('Start lag max, ms', ({ lagMs }) => lagMs.max),
      row(`Start lag p99 of the last ${undisturbedSeconds} s, ms`, (one) => one.undisturbedLagMs.p99),
      row(
        'Event loop delay p99, ms',
        maxOf((one) => one.eventLoopMs.p99),
        fixed(1),
      ),
      row(
        'Cores per process',
        maxOf((one) => one.cores),
        fixed(2),
      ),
      row('Database connections', ({ databaseConnections }) => databaseConnections),
      row('WAL per sync, bytes', ({ walBytesPerSync }) => walBytesPerSync),
      row('Dead rows, thousands', deadThousands),
      row('Age of the oldest job, s', ({ oldestSeconds }) => oldestSeconds.jobs),
      row('Age of the oldest signal, s', ({ oldestSeconds }) => oldestSeconds.signals),
    ],
  );
}

const maxTables = 4;
type Values = Record<string, (sample: Sample) => number | undefined>;

function chartsOf({ samples, plan }: SoakResult): Record<string, LineChart> {
  const chart = (title: string, subtitle: string, values: Values): LineChart => ({
    title,
    subtitle,
    x: 'minutes of load',
    lines: Object.entries(values).map(([name, value], color) => ({
      name,
      color,
      points: samples.map((sample) => ({ x: sample.minute, y: value(sample) ?? 0 })),
    })),
  });
  const last = samples.at(-1)?.tables ?? {};
  const largest = Object.keys(last)
    .toSorted((a, b) => (last[b]?.mb ?? 0) - (last[a]?.mb ?? 0))
    .slice(0, maxTables);
  const sizes: Values = {};
  for (const name of largest) sizes[name] = ({ tables }) => tables[name]?.mb;
  const memory: Values = {};
  for (let i = 0; i < processCount; i++) {
    memory[`process ${i + 1}, resident`] = ({ processes }) => processes[i]?.rssMb;
    memory[`process ${i + 1}, heap`] = ({ processes }) => processes[i]?.heapMb;
  }
  return {
    rate: chart('Throughput', 'Syncs per second; completed syncs should equal due syncs', {
      completed: ({ syncsPerSecond }) => syncsPerSecond,
      due: () => plan.perSecond,
    }),
    lag: chart('Start lag', 'Milliseconds from due to start', {
      p99: ({ lagMs }) => lagMs.p99,
      'p99, undisturbed': ({ undisturbedLagMs }) => undisturbedLagMs.p99,
      p50: ({ lagMs }) => lagMs.p50,
    }),
    memory: chart('Memory per process', 'MB, resident and heap after garbage collection', memory),
    size: chart('Tables with their indexes', `MB; deleted after ${plan.retentionMinutes} minutes`, sizes),
  };
}
