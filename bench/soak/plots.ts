import { linesPlot } from '../plots/lines.ts';
import type { SoakResult } from './result.ts';

/** By the names of their files. */
export const plotTitles = {
  rate: 'Syncs per second',
  lag: 'Start lag',
  memory: 'Memory of each process',
  size: 'Tables with their indexes',
};

const shownTables = 4;

export function plotsOf({ samples, plan }: SoakResult): Record<keyof typeof plotTitles, string> {
  const x = { label: 'minutes of load' };
  const line = (name: string, value: (sample: SoakResult['samples'][number]) => number) => ({
    name,
    points: samples.map((sample) => ({ x: sample.minute, y: value(sample) })),
  });
  const processes = samples[0]?.processes ?? [];
  const last = samples.at(-1)?.tables ?? {};
  const largest = Object.keys(last)
    .toSorted((a, b) => (last[b]?.mb ?? 0) - (last[a]?.mb ?? 0))
    .slice(0, shownTables);
  return {
    rate: linesPlot({
      title: plotTitles.rate,
      subtitle: 'What was done should be what came due',
      x,
      y: { label: 'syncs per second' },
      series: [line('done', ({ syncsPerSecond }) => syncsPerSecond), line('came due', () => plan.perSecond)],
    }),
    lag: linesPlot({
      title: plotTitles.lag,
      subtitle: 'From when a run was due until it began; level is the aim',
      x,
      y: { label: 'milliseconds' },
      series: [
        line('99 of 100', ({ lagMs }) => lagMs.p99),
        line('99 of 100, undisturbed', ({ undisturbedLagMs }) => undisturbedLagMs.p99),
        line('half of them', ({ lagMs }) => lagMs.p50),
      ],
    }),
    memory: linesPlot({
      title: plotTitles.memory,
      subtitle: 'Resident, and in use after garbage was collected; level is the aim',
      x,
      y: { label: 'MB' },
      series: processes.flatMap((_, i) => [
        line(`process ${i + 1}, resident`, (sample) => sample.processes[i]?.rssMb ?? Number.NaN),
        line(`process ${i + 1}, in use`, (sample) => sample.processes[i]?.heapMb ?? Number.NaN),
      ]),
    }),
    size: linesPlot({
      title: plotTitles.size,
      subtitle: `What has ended is deleted after ${plan.retentionMinutes} minutes; from then on level is the aim`,
      x,
      y: { label: 'MB' },
      series: largest.map((name) => line(name, ({ tables }) => tables[name]?.mb ?? Number.NaN)),
    }),
  };
}
