import type { LatencyResult } from '../latency/measure.ts';
import type { Sample } from '../latency/triggers.ts';
import { fixed, quantile, table, verdict, whole } from '../tools/text.ts';
import type { Section } from './section.ts';

const maxIdleMs = 20;

const stages: [label: string, key: keyof Sample][] = [
  ['trigger returned', 'acknowledgedMs'],
  ['connector called', 'startedMs'],
  ['signal in the table', 'visibleMs'],
  ['signal delivered', 'deliveredMs'],
];

export function latency({ idle, load }: LatencyResult): Section {
  const groups: [label: string, samples: Sample[]][] = [
    ['Idle', idle.samples],
    [`${whole(load.syncsPerSecond)} syncs/s`, load.samples],
  ];
  const at = (samples: Sample[], key: keyof Sample, part: number) =>
    quantile(
      Array.from(samples, (sample) => sample[key]),
      part,
    );
  const idleP99 = at(idle.samples, 'startedMs', 0.99);
  const isMet = idleP99 <= maxIdleMs;
  const what = 'Idle process: trigger to connector call, p99, ms';
  const rows = groups.flatMap(([label, samples], group) =>
    stages.map(([stage, key]) => [
      `${label}: ${stage}`,
      ...[0.5, 0.99, 1].map((part) => fixed(1)(at(samples, key, part))),
      group === 0 && key === 'startedMs' ? `≤ ${maxIdleMs}: ${verdict(isMet)}` : '',
    ]),
  );
  return {
    texts: {
      samples: whole(idle.samples.length),
      percent: whole(load.part * 100),
      rate: whole(load.syncsPerSecond),
      table: table(['Since the trigger', 'p50, ms', 'p99, ms', 'max, ms', 'goal for p99'], rows),
      'lag p50': fixed(0)(load.lagMs.p50),
      'lag p99': fixed(0)(load.lagMs.p99),
    },
    chart: {
      title: 'From the trigger to the consumer',
      subtitle: 'Bars end at p50, lines at p99; lower is better',
      unit: 'milliseconds since the trigger',
      bars: groups.flatMap(([group, samples], color) =>
        stages.slice(1).map(([stage, key]) => {
          const [value, max] = [at(samples, key, 0.5), at(samples, key, 0.99)];
          return { label: `${group}: ${stage}`, value, min: value, max, color };
        }),
      ),
    },
    goals: [{ what, goal: `≤ ${maxIdleMs}`, found: fixed(1)(idleP99), isMet }],
  };
}
