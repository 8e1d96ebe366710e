import { executor } from '../engine/engine.ts';
import { judgementRows } from '../soak/judge.ts';
import { processCount } from '../soak/processes.ts';
import type { SoakResult } from '../soak/run.ts';
import { type Sample, steadyOf, undisturbedSeconds } from '../soak/sample.ts';
import { describeEnvironment, type Recorded } from '../tools/results.ts';
import { fixed, median, sum, table, whole } from '../tools/text.ts';
import type { LineChart } from './section.ts';

/** docs/soak.md and its charts by file name. */
export function soakPage(result: (Recorded & SoakResult) | undefined): {
  text: string;
  charts: Record<string, LineChart>;
} {
  const charts = result ? chartsOf(result) : {};
  const sections = result ? describe(result, charts) : ['Not measured yet.'];
  return { text: `${[intro, ...sections, repeat].join('\n\n')}\n`, charts };
}

const intro = `# Load and soak

A steady load for hours shows whether anything grows, slows down or breaks. \`npm run soak\` records the result in
\`bench/results/soak.json\`; \`npm run bench:report\` writes this page. Throughput: [benchmarks](benchmarks.md).`;

const repeat = `## How to repeat it

\`\`\`sh
npm run soak -- --hours 8
npm run soak -- --minutes 10
npm run soak -- --minutes 2 --connections 5000 --capacity 2000   # a trial that records no result
npm run bench:report                                             # writes this page
\`\`\`

The soak starts a temporary Postgres server. Exit code 1 means that at least one check failed. Other programs on the machine
increase the lag.`;

function describe(result: Recorded & SoakResult, charts: Record<string, LineChart>): string[] {
  const { judgements, totals } = result;
  const problems = [
    ...totals.violations.map(
      ({ invariant, count, examples }) =>
        `- Violated ${whole(count)} times: ${invariant} (${examples.join('; ')}).`,
    ),
    ...totals.logged.map((line) => `- Logged: ${line}`),
  ];
  return [
    '## Setup',
    setup(result),
    '## Checks',
    table(['Check', 'bound', 'measured', 'verdict'], judgementRows(judgements)),
    '± is the 95 % confidence interval of the slope, corrected for the correlation of consecutive minutes.',
    ...(problems.length > 0 ? [problems.join('\n')] : []),
    '## Minutes',
    minutesTable(result),
    `Unplanned warnings: ${whole(totals.warnings)}. Connector calls without a committed result: ${whole(totals.lostCalls)}.`,
    ...Object.entries(charts).map(([name, { title }]) => `![${title}](soak/${name}.svg)`),
    '## Limits of this test',
    limits(result),
  ];
}

function setup({ measuredOn, options, plan, capacityPerSecond, totals }: Recorded & SoakResult): string {
  const { minutes } = options;
  const duration = minutes % 60 === 0 && minutes > 60 ? `${minutes / 60} hours` : `${minutes} minutes`;
  const source = options.capacityPerSecond === undefined ? 'the slower of two measured minutes' : 'given';
  return `${whole(plan.connections)} connections of 100 tenants at 4 providers, each with an interval of ${plan.intervalSeconds} s and up to 20 % jitter. ${processCount} processes schedule,
run (concurrency ${executor.concurrency}) and delete rows after ${plan.retentionMinutes} minutes. Their capacity is ${whole(capacityPerSecond)} syncs per second (${source}). The load is
${whole(100 * plan.load)} % of it, ${whole(plan.perSecond)} syncs per second, evenly spread from the first second on, for ${duration}: ${whole(totals.syncs)} syncs. A provider
responds after 50 ms with one new item; 0.5 % of its responses are failures, and 0.5 % announce a second page.

${describeEnvironment(measuredOn)}, load average ${measuredOn.loadBefore} before the start. Postgres and the processes share the cores.`;
}

function minutesTable({ samples, plan }: SoakResult): string {
  const steady = steadyOf(samples, plan);
  const row = (what: string, value: (sample: Sample) => number, format = whole) => {
    const values = steady.map(value);
    return [what, format(median(values)), format(Math.max(...values))];
  };
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
        ({ processes }) => Math.max(...processes.map((one) => one.eventLoopMs.p99)),
        fixed(1),
      ),
      row('Cores per process', ({ processes }) => Math.max(...processes.map((one) => one.cores)), fixed(2)),
      row('Database connections', ({ databaseConnections }) => databaseConnections),
      row('WAL per sync, bytes', ({ walBytesPerSync }) => walBytesPerSync),
      row(
        'Dead rows, thousands',
        ({ tables }) => sum(Object.values(tables).map((one) => one.deadRows)) / 1000,
      ),
      row('Age of the oldest job, s', ({ oldestSeconds }) => oldestSeconds.jobs),
      row('Age of the oldest signal, s', ({ oldestSeconds }) => oldestSeconds.signals),
    ],
  );
}

function limits({ options, plan, samples, judgements }: SoakResult): string {
  const unknown = judgements.filter(({ verdict }) => verdict === 'unknown').map(({ what }) => what);
  const checkSeconds = fixed(1)(median(samples.map(({ checksMs }) => checksMs)) / 1000);
  const growth =
    unknown.length === 0
      ? 'This is long enough to rule out growth above the bounds.'
      : `This is too short for: ${unknown.join('; ')}. A longer run narrows the confidence interval.`;
  return [
    '- Each minute, SQL that is independent of the engine checks all connections, and all signals and jobs of a part of them. Each signal is checked before retention deletes it. Each sync stores the next number of its connection, so a lost or duplicate sync is visible. After the processes have stopped, the checks run over all connections again.',
    `- The checks use the same cores for ${checkSeconds} s of each minute and delay syncs. The last ${undisturbedSeconds} s of each minute show the lag without checks.`,
    `- The load has one shape: a fast provider, one small signal per sync, ${processCount} processes on one machine. No faults are injected.`,
    `- Growth is judged over the ${options.minutes - plan.warmUpMinutes} minutes in which deletes balance inserts. ${growth}`,
    '- `rollups` keeps one row per minute for a day and is excluded from the size check.',
  ].join('\n');
}

const maxTables = 4;

function chartsOf({ samples, plan }: SoakResult): Record<string, LineChart> {
  const chart = (
    title: string,
    subtitle: string,
    values: Record<string, (sample: Sample) => number | undefined>,
  ): LineChart => ({
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
  const memory = (samples[0]?.processes ?? []).flatMap((_, i) => [
    [`process ${i + 1}, resident`, ({ processes }: Sample) => processes[i]?.rssMb],
    [`process ${i + 1}, heap`, ({ processes }: Sample) => processes[i]?.heapMb],
  ]);
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
    memory: chart(
      'Memory per process',
      'MB, resident and heap after garbage collection',
      Object.fromEntries(memory),
    ),
    size: chart(
      'Tables with their indexes',
      `MB; rows are deleted after ${plan.retentionMinutes} minutes`,
      Object.fromEntries(largest.map((name) => [name, ({ tables }: Sample) => tables[name]?.mb])),
    ),
  };
}
