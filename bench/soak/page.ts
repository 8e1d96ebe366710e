import { fixed, median, table, whole } from '../tools/report.ts';
import type { Measured, MeasuredOn } from '../tools/results.ts';
import type { Judgement } from './judge.ts';
import { plotsOf, plotTitles } from './plots.ts';
import type { SoakResult } from './result.ts';
import { type Sample, steadyOf, undisturbedSeconds } from './sample.ts';

export interface Page {
  text: string;
  /** Drawings by the names of their files. */
  plots: Record<string, string>;
}

/** The whole page, in Markdown. */
export function page(result: (Measured & SoakResult) | undefined): Page {
  const sections = result ? found(result) : ['Not measured yet.', repeat];
  return {
    text: `${['# Load and soak', about, ...sections].join('\n\n')}\n`,
    plots: result ? plotsOf(result) : {},
  };
}

const about = `Does anything grow, slow down or go wrong when Syncline works for hours? This page is written by \`npm run soak\` from what it measured
(\`bench/results/soak.json\`). How fast it is: [benchmarks](benchmarks.md).`;

const repeat = `## How to repeat it

\`\`\`sh
npm run soak -- --hours 8      # eight hours of load, and some minutes before and after
npm run soak -- --minutes 10
npm run soak -- --minutes 2 --connections 5000 --capacity 2000   # tries it out, and replaces nothing
npm run soak:report            # writes this page again
\`\`\`

It needs nothing but \`npm ci\`, starts a Postgres of its own, and leaves nothing behind. Exit code 1 says that something above was missed. Give it the
machine alone: what others take is missing here, and looks like lag.`;

function found(result: Measured & SoakResult): string[] {
  return [
    '## What was run',
    whatWasRun(result),
    '## What was asked, and what was found',
    table(['Asked', 'bound', 'found', 'verdict'], judgementRows(result.judgements)),
    `± is the margin within which the true slope lies 95 times of 100, with regard to minutes that are alike because they follow each other.`,
    ...wrong(result),
    '## Minute by minute',
    figures(result),
    ...Object.entries(plotTitles).map(([name, title]) => `![${title}](soak/${name}.svg)`),
    '## What it shows, and what it cannot show',
    limits(result),
    repeat,
  ];
}

export function judgementRows(judgements: Judgement[]): string[][] {
  const words = { met: 'met', missed: 'MISSED', unknown: 'too short to tell' };
  return judgements.map(({ what, bound, found: value, verdict }) => [what, bound, value, words[verdict]]);
}

function whatWasRun({
  measuredOn,
  asked,
  plan,
  executor,
  capacityPerSecond,
  totals,
}: Measured & SoakResult): string {
  return `${whole(plan.connections)} connections of 100 tenants at 4 providers, each synced every ${plan.intervalSeconds} s and up to 20 % of that later, by ${asked.processes} processes that each
schedule, run (up to ${executor.concurrency} at once) and delete what was kept for ${plan.retentionMinutes} minutes. The fleet can do ${whole(capacityPerSecond)} syncs a second when there is
always more to do (${asked.capacityPerSecond === undefined ? 'in the slower one of two minutes' : 'as was known before'}); what came due was ${whole(100 * plan.load)} % of that, ${whole(plan.perSecond)} a second, evenly from the first second on, for ${duration(asked.minutes)}: ${whole(totals.syncs)} syncs.
A provider answers after 50 ms and has one more item each time; one answer of 200 is a failure, and one of 200 says that there is a second page.

On ${machine(measuredOn)}. Postgres and the fleet share the cores.`;
}

function machine({ node, postgres, cores, cpu, memoryGb, settings, loadBefore }: MeasuredOn): string {
  const pairs = Object.entries(settings).map((pair) => pair.join(' '));
  return `Node ${node}, Postgres ${postgres} (${pairs.join(', ')}), ${cores} cores (${cpu}), ${memoryGb} GB of memory, at a load of ${loadBefore} before it began`;
}

function duration(minutes: number): string {
  return minutes % 60 === 0 && minutes > 60 ? `${minutes / 60} hours` : `${minutes} minutes`;
}

function wrong({ totals }: SoakResult): string[] {
  const lines = [
    ...totals.violations.map(
      ({ invariant, count, examples }) =>
        `- Violated ${whole(count)} times: ${invariant} (${examples.join('; ')}).`,
    ),
    ...totals.logged.map((line) => `- Logged: ${line}`),
  ];
  return lines.length > 0 ? [lines.join('\n')] : [];
}

/** Medians, and the worst minute. */
function figures({ samples, plan, totals }: SoakResult): string {
  const steady = steadyOf(samples, plan);
  const row = (what: string, value: (sample: Sample) => number, format = whole) => {
    const values = steady.map(value);
    return [what, format(median(values)), format(Math.max(...values))];
  };
  const most = (values: number[]) => Math.max(...values);
  const deadRows = ({ tables }: Sample) =>
    Object.values(tables).reduce((sum, one) => sum + one.deadRows, 0) / 1000;
  return [
    table(
      [`${steady.length} minutes after ${plan.warmUpMinutes} to warm up`, 'median', 'most'],
      [
        row('Syncs per second', ({ syncsPerSecond }) => syncsPerSecond),
        row('Start lag p50, ms', ({ lagMs }) => lagMs.p50),
        row('Start lag p99, ms', ({ lagMs }) => lagMs.p99),
        row('Longest start lag, ms', ({ lagMs }) => lagMs.most),
        row(
          `Start lag p99 of the last ${undisturbedSeconds} s of a minute, ms`,
          ({ undisturbedLagMs }) => undisturbedLagMs.p99,
        ),
        row(
          'Event loop delay p99, ms',
          ({ processes }) => most(processes.map((one) => one.eventLoopMs.p99)),
          fixed(1),
        ),
        row('Cores of a process', ({ processes }) => most(processes.map((one) => one.cores)), fixed(2)),
        row('Database connections', ({ databaseConnections }) => databaseConnections),
        row('WAL per sync, bytes', ({ walBytesPerSync }) => walBytesPerSync),
        row('Dead rows, thousands', deadRows),
        row('Oldest job kept, s', ({ keptSeconds }) => keptSeconds.jobs),
        row('Oldest signal kept, s', ({ keptSeconds }) => keptSeconds.signals),
      ],
    ),
    `Warnings that were not planned: ${whole(totals.warnings)}. Calls of connectors of which nothing was stored: ${whole(totals.callsWithoutOutcome)}.`,
  ].join('\n\n');
}

function limits({ asked, plan, samples, judgements }: SoakResult): string {
  const unknown = judgements.filter(({ verdict }) => verdict === 'unknown');
  const steadyMinutes = asked.minutes - plan.warmUpMinutes;
  return [
    `- Every minute SQL that knows nothing of the engine looks at all connections, and at all signals and jobs of a part of them; no signal is deleted before it
  was looked at. Each sync stores the next number, so a sync that was lost or done twice would show. At the end everything is stopped and looked at once more.`,
    `- These looks take the same cores: while one lasts (${fixed(1)(median(samples.map(({ checksMs }) => checksMs)) / 1000)} s of a minute), and until that is caught up with, runs begin late. What the fleet does alone is told
  by the last ${undisturbedSeconds} s of each minute.`,
    `- The load is one: a quick provider, one small signal per sync, ${asked.processes} processes on one machine. Nothing is broken on purpose here.`,
    `- What grows is judged over the ${steadyMinutes} minutes in which as much is deleted as is added. ${
      unknown.length === 0
        ? 'That was long enough to rule out growth above the bounds.'
        : `That was too short for: ${unknown.map(({ what }) => what).join('; ')}. A slope whose margin is wider than its bound rules out nothing; more minutes make it narrower.`
    }`,
    `- Counts per minute (\`rollups\`) are kept by the minute for a day, so they are left out of what must not grow.`,
  ].join('\n');
}
