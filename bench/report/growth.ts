import { type GrowthResult, growthTable } from '../growth/measure.ts';
import type { VariantName } from '../growth/variant.ts';
import { linesPlot } from '../plots/lines.ts';
import { fixed, whole } from '../tools/report.ts';
import { type Findings, image } from './section.ts';

const title = 'Syncs per second, minute after minute of full load';
const labels: Record<VariantName, string> = { plain: 'as it is', held: 'beside a held snapshot' };

export function growth(result: GrowthResult): Findings {
  const { scale, summary } = result;
  return {
    text: [
      `Does a full load slow down with time? ${whole(scale.connections)} connections that come due each minute, more than can be run, for
${scale.minutes} minutes after ${scale.warmUpMinutes} to warm up; ${scale.processes} processes; what has ended is deleted after ${scale.retentionMinutes} minutes. Once as it is, and once beside a transaction that holds a
snapshot from the first minute to the last, so that nothing dead can be removed. The last ${scale.comparedMinutes} minutes are compared with the first
${scale.comparedMinutes}; by the reference means relative to bare SQL on fresh tables, measured before each ${scale.sliceMinutes} minutes: it tells a slower engine
from a slower machine. The two take turns of ${scale.sliceMinutes} minutes, so each turn begins with everything overdue.`,
      growthTable(result),
      image('growth', title),
      summary
        .map(
          ({ variant, bytesPerMillionSyncs, minutesWithoutWork }) =>
            `- ${labels[variant]}: in the second half all tables and indexes grew by ${whole(bytesPerMillionSyncs / 2 ** 20)} MB per million syncs; work ran out in ${minutesWithoutWork} minutes.`,
        )
        .join('\n'),
    ].join('\n\n'),
    plots: { growth: plot(result) },
    goals: summary.map(({ variant, goal, lastToFirstByReference }) => ({
      what: `Full load ${labels[variant]}, the last ${scale.comparedMinutes} of ${scale.minutes} minutes to the first`,
      goal: `≥ ${goal}`,
      found: fixed(2)(lastToFirstByReference),
      isMet: lastToFirstByReference >= goal,
    })),
  };
}

function plot({ scale, minutes }: GrowthResult): string {
  return linesPlot({
    title,
    subtitle: 'More is better, and level is the aim',
    x: { label: 'minutes of load' },
    y: { label: 'syncs per second' },
    series: scale.variants.map((variant, colour) => ({
      name: labels[variant],
      colour,
      points: minutes
        .filter((one) => one.variant === variant && one.minute > 0)
        .map(({ minute, syncsPerSecond }) => ({ x: minute, y: syncsPerSecond })),
    })),
  });
}
