import { idleGoalMs, type LatencyResult, latencyTable } from '../latency/measure.ts';
import type { Sample } from '../latency/samples.ts';
import { barsPlot } from '../plots/bars.ts';
import { fixed, quantile, whole } from '../tools/report.ts';
import { type Findings, image } from './section.ts';

const title = 'From a trigger to a consumer';

const stages: [label: string, key: keyof Sample][] = [
  ['connector called', 'startedMs'],
  ['signal in the table', 'visibleMs'],
  ['signal with the consumer', 'fedMs'],
];

export function latency(result: LatencyResult): Findings {
  const { idle, load } = result;
  const p99 = quantile(
    idle.samples.map(({ startedMs }) => startedMs),
    0.99,
  );
  const percent = Math.round(load.part * 100);
  return {
    text: [
      `Milliseconds since \`trigger\` was called, ${idle.samples.length} times each: of a process that has nothing else to do, and of one with
${percent} % of the most it can do (${whole(load.syncsPerSecond)} syncs per second, placing included). The consumer reads the feed in another process;
the feed is looked at five times a second.`,
      latencyTable(result),
      image('latency', title),
      `The load itself began ${fixed(0)(load.lagMs.p50)} ms after it was due in the median, ${fixed(0)(load.lagMs.p99)} ms at the 99th percentile. Peers were not measured here.`,
    ].join('\n\n'),
    plots: { latency: plot(result) },
    goals: [
      {
        what: 'An idle process calls the connector after a trigger, 99 of 100 times, ms',
        goal: `≤ ${idleGoalMs}`,
        found: fixed(1)(p99),
        isMet: p99 <= idleGoalMs,
      },
    ],
  };
}

function plot({ idle, load }: LatencyResult): string {
  const bars = (samples: Sample[]) =>
    stages.map(([label, key]) => {
      const values = samples.map((sample) => sample[key]);
      const middle = quantile(values, 0.5);
      return { label, value: middle, least: middle, most: quantile(values, 0.99), colour: 0 };
    });
  return barsPlot({
    title,
    subtitle: 'Bars are medians, whiskers reach to the 99th percentile; less is better',
    unit: 'ms since the trigger',
    groups: [
      { label: 'Idle', bars: bars(idle.samples) },
      { label: `At ${whole(load.syncsPerSecond)} syncs per second`, bars: bars(load.samples) },
    ],
  });
}
