import type { LatencyResult } from '../latency/measure.ts';
import type { Sample } from '../latency/triggers.ts';
import { fixed, quantile, table, verdict, whole } from '../tools/text.ts';
import type { Findings } from './section.ts';

/** Maximum p99 from the trigger to the connector call in an idle process. */
const maxIdleMs = 20;

const stages: [label: string, key: keyof Sample][] = [
  ['trigger returned', 'acknowledgedMs'],
  ['connector called', 'startedMs'],
  ['signal in the table', 'visibleMs'],
  ['signal delivered', 'deliveredMs'],
];

export function latency({ idle, load }: LatencyResult): Findings {
  const groups: [label: string, samples: Sample[]][] = [
    ['Idle', idle.samples],
    [`${whole(load.syncsPerSecond)} syncs/s`, load.samples],
  ];
  const at = (samples: Sample[], key: keyof Sample, part: number) =>
    quantile(
      samples.map((sample) => sample[key]),
      part,
    );
  const idleP99 = at(idle.samples, 'startedMs', 0.99);
  const isMet = idleP99 <= maxIdleMs;
  const rows = groups.flatMap(([label, samples], group) =>
    stages.map(([stage, key]) => [
      `${label}: ${stage}`,
      ...[0.5, 0.99, 1].map((part) => fixed(1)(at(samples, key, part))),
      group === 0 && key === 'startedMs' ? `≤ ${maxIdleMs}: ${verdict(isMet)}` : '',
    ]),
  );
  return {
    text: [
      `Milliseconds from the call of \`trigger\`, ${idle.samples.length} samples each: in an idle process, and at ${Math.round(load.part * 100)} % of the capacity of a
process (${whole(load.syncsPerSecond)} syncs per second, scheduling included). A consumer in another process reads the feed, which polls every 200 ms.`,
      table(['Since the trigger', 'p50, ms', 'p99, ms', 'max, ms', 'goal for p99'], rows),
      `The start lag of the load itself is ${fixed(0)(load.lagMs.p50)} ms at p50 and ${fixed(0)(load.lagMs.p99)} ms at p99. Peers are not measured here.`,
    ].join('\n\n'),
    chart: {
      title: 'From the trigger to the consumer',
      subtitle: 'Bars end at p50, lines at p99; lower is better',
      unit: 'milliseconds since the trigger',
      bars: groups.flatMap(([group, samples], color) =>
        stages.slice(1).map(([stage, key]) => {
          const value = at(samples, key, 0.5);
          const max = at(samples, key, 0.99);
          return { label: `${group}: ${stage}`, value, min: value, max, color };
        }),
      ),
    },
    goals: [
      {
        what: 'Idle process: trigger to connector call, p99, ms',
        goal: `≤ ${maxIdleMs}`,
        found: fixed(1)(idleP99),
        isMet,
      },
    ],
  };
}
